-- Requests that their client named (`clientRequestId`), written in the transaction of what they caused: the same
-- name again is answered and not carried out. `scope` is the Thread, or empty for requests that make one.
CREATE TABLE request (
    scope      TEXT NOT NULL,
    request_id TEXT NOT NULL,
    body       TEXT NOT NULL,               -- digest of method and params
    thread_id  TEXT NOT NULL,
    seq        INTEGER,                     -- first event it caused; null for none
    at         INTEGER NOT NULL,
    PRIMARY KEY (scope, request_id)
) WITHOUT ROWID;
CREATE INDEX request_by_age ON request (at);
