-- Text of the history as searches find it. Follows from the events, a moment behind them.
CREATE TABLE search_item (
    entry     INTEGER PRIMARY KEY,          -- order of the results: what was indexed later comes first
    thread_id TEXT NOT NULL,
    turn_no   INTEGER,                      -- null: the Thread's title
    item_no   INTEGER,
    kind      TEXT NOT NULL,                -- type of the Item, or 'title'
    at        INTEGER NOT NULL,
    text      TEXT NOT NULL                 -- its beginning
);
CREATE INDEX search_item_by_thread ON search_item (thread_id);
CREATE INDEX search_title ON search_item (thread_id) WHERE turn_no IS NULL;
-- Parts of words are found as well as words, in every language that has three letters in a row.
CREATE VIRTUAL TABLE search_text USING fts5 (
    text, content = 'search_item', content_rowid = 'entry', tokenize = 'trigram'
);

-- Threads with events that are not indexed yet, and up to where they are.
CREATE TABLE search_pending (thread_id TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE search_mark (thread_id TEXT PRIMARY KEY, seq INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO search_pending SELECT thread_id FROM thread WHERE deleted_at IS NULL;
