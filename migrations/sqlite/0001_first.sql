-- The first schema. Times are integer Unix milliseconds, JSON is text, ids are made by the server.
-- Events are the truth; every other table follows from them and changes in the same transaction.

-- One row a Thread: what lists show and what an owner needs to begin, without its Turns.
CREATE TABLE thread (
    thread_id        TEXT PRIMARY KEY,
    workspace_path   TEXT NOT NULL,
    user_id          TEXT,
    origin_channel   TEXT NOT NULL,
    channel_context  TEXT,
    source           TEXT NOT NULL,
    history_mode     TEXT NOT NULL,
    created_at       INTEGER NOT NULL,
    metadata         TEXT NOT NULL,
    display_name     TEXT,
    status           TEXT NOT NULL,
    last_active_at   INTEGER NOT NULL,
    last_turn        INTEGER NOT NULL,      -- highest Turn number ever given; never reused
    turn_count       INTEGER NOT NULL,
    running          INTEGER NOT NULL,      -- lists show activity without loading anything
    waiting_approval INTEGER NOT NULL,
    plan_pending     INTEGER NOT NULL,
    context_tokens   INTEGER NOT NULL,
    config           TEXT,
    queue            TEXT NOT NULL,
    plan             TEXT,
    grants           TEXT NOT NULL,         -- scope keys accepted for this session; cleared at start
    head_seq         INTEGER NOT NULL,      -- no Seq above this was ever shown; numbering goes on above it
    deleted_at       INTEGER                -- set: invisible, its rows are being removed in small steps
);
-- The order of every list.
CREATE INDEX thread_by_activity ON thread (last_active_at DESC, thread_id DESC) WHERE deleted_at IS NULL;
CREATE INDEX thread_deleted ON thread (thread_id) WHERE deleted_at IS NOT NULL;

-- One row a Turn. `features` and `diff_seq` matter while it is open.
CREATE TABLE turn (
    thread_id      TEXT NOT NULL,
    turn_no        INTEGER NOT NULL,
    status         TEXT NOT NULL,
    started_at     INTEGER NOT NULL,
    completed_at   INTEGER,
    input_tokens   INTEGER NOT NULL DEFAULT 0,
    output_tokens  INTEGER NOT NULL DEFAULT 0,
    error          TEXT,
    origin_channel TEXT,
    features       TEXT NOT NULL,
    diff_seq       INTEGER,                 -- newest event with the Turn's file changes
    PRIMARY KEY (thread_id, turn_no)
) WITHOUT ROWID;
-- What recovery looks for at every start; almost empty.
CREATE INDEX turn_open ON turn (thread_id) WHERE completed_at IS NULL;

-- Where an Item's newest form stands. Its content is stored once, in that event.
CREATE TABLE item (
    thread_id TEXT NOT NULL,
    turn_no   INTEGER NOT NULL,
    item_no   INTEGER NOT NULL,
    seq       INTEGER NOT NULL,
    PRIMARY KEY (thread_id, turn_no, item_no)
) WITHOUT ROWID;

-- Streamed text of Items that are still open, in pieces as checkpoints wrote them. Gone with the Item's end.
CREATE TABLE item_text (
    part_id   INTEGER PRIMARY KEY,          -- order of the pieces
    thread_id TEXT NOT NULL,
    turn_no   INTEGER NOT NULL,
    item_no   INTEGER NOT NULL,
    text      TEXT NOT NULL
);
CREATE INDEX item_text_by_item ON item_text (thread_id, turn_no, item_no);

-- The log of every Thread.
CREATE TABLE event (
    thread_id TEXT NOT NULL,
    seq       INTEGER NOT NULL,
    turn_no   INTEGER,
    kind      TEXT NOT NULL,
    version   INTEGER NOT NULL,             -- format of the payload; old ones are decoded, never rewritten
    fence     INTEGER NOT NULL,             -- which writer's term; 1 on one machine
    at        INTEGER NOT NULL,
    payload   TEXT NOT NULL,
    PRIMARY KEY (thread_id, seq)
) WITHOUT ROWID;

-- Questions to people, open (`decision` is null) and settled. `seq` is the event that asked.
CREATE TABLE approval (
    thread_id   TEXT NOT NULL,
    approval_id TEXT NOT NULL,
    turn_no     INTEGER NOT NULL,
    call_id     TEXT NOT NULL,
    seq         INTEGER NOT NULL,
    decision    TEXT,
    PRIMARY KEY (thread_id, approval_id)
) WITHOUT ROWID;
CREATE INDEX approval_by_turn ON approval (thread_id, turn_no);

-- Calls whose effect may have begun: never repeated after a crash.
CREATE TABLE call_started (
    thread_id TEXT NOT NULL,
    turn_no   INTEGER NOT NULL,
    call_id   TEXT NOT NULL,
    PRIMARY KEY (thread_id, turn_no, call_id)
) WITHOUT ROWID;

-- Answers given for ever, for the whole workspace.
CREATE TABLE approval_rule (
    kind      TEXT NOT NULL,
    operation TEXT NOT NULL,
    target    TEXT NOT NULL,
    PRIMARY KEY (kind, operation, target)
) WITHOUT ROWID;
