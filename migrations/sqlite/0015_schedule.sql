-- Jobs that the server runs by the clock, and what belongs to them. Their number is bounded and all of them are read at the
-- start, so one table has every kind and no column but the content.
CREATE TABLE schedule (
    kind TEXT NOT NULL,
    id   TEXT NOT NULL,
    body TEXT NOT NULL,                     -- JSON
    PRIMARY KEY (kind, id)
) WITHOUT ROWID;
