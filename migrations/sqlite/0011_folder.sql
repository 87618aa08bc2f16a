-- The directory that the workspace's path named when answers were last given for ever: in another one they are asked again.
CREATE TABLE folder (
    id        INTEGER PRIMARY KEY CHECK (id = 1),
    directory TEXT NOT NULL                 -- inode and time of birth
);
