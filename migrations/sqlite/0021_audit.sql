-- The audit: who did what. Rows build on each other by hashes; no event, Thread or Turn takes them along.
CREATE TABLE audit (
    seq   INTEGER PRIMARY KEY, -- from 1 without gaps
    entry TEXT NOT NULL,       -- JSON, as hashed
    hash  TEXT NOT NULL        -- SHA-256 of the hash before, the number and the entry
);
