-- The audit: who did what. Rows of a workspace build on each other by hashes; no event, Thread or Turn takes them along.
CREATE TABLE audit (
    workspace text COLLATE "C" NOT NULL,
    seq       bigint NOT NULL,               -- from 1 without gaps
    entry     text COLLATE "C" NOT NULL,     -- JSON, as hashed
    hash      text COLLATE "C" NOT NULL,     -- SHA-256 of the hash before, the number and the entry
    PRIMARY KEY (workspace, seq)
);
