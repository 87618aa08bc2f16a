-- Which server may write to a workspace. Every transaction of a server locks the row, and finds none once another server has
-- taken it. All times are the database's.
CREATE TABLE lease (
    workspace  text COLLATE "C" PRIMARY KEY,
    holder     text COLLATE "C" NOT NULL,           -- id of the state directory: its servers exclude each other by a lock;
                                                    -- empty: given up in order
    machine    text NOT NULL,                       -- name for people
    fence      bigint NOT NULL,                     -- grows with each holder; in every event
    expires_at timestamptz NOT NULL
);

-- Each machine has a folder of its own for a workspace. Answers for ever are removed where one machine's becomes another directory.
DROP TABLE folder;
CREATE TABLE folder (
    workspace text COLLATE "C" NOT NULL,
    holder    text COLLATE "C" NOT NULL,
    directory text NOT NULL,                        -- inode and time of birth
    path      text COLLATE "C" NOT NULL,
    PRIMARY KEY (workspace, holder)
);

-- The nodes that use the database, and when each was last there.
CREATE TABLE node (
    id      text COLLATE "C" PRIMARY KEY,           -- of its state directory
    machine text NOT NULL,                          -- name for people
    version text NOT NULL,
    address text,                                   -- where other nodes reach it
    seen_at timestamptz NOT NULL
);

-- What the nodes know and nobody else: `relay`, by which they believe each other whom a client stands for.
CREATE TABLE secret (
    name  text COLLATE "C" PRIMARY KEY,
    value text NOT NULL
);
