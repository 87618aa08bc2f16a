-- The first schema. Times are Unix milliseconds, JSON is text: `jsonb` refuses "\u0000", which a payload may have.
-- Events are the truth; every other table follows from them and changes in the same transaction.
--
-- Every table has the workspace's id first in its key: rows of one workspace never meet those of another.
-- Ids are compared byte by byte (collation "C"), whatever the language of the database.
-- Text that must not lose a zero byte, which `text` refuses, is `bytea`.

-- Searches find parts of words by three letters in a row. Any owner of a database may add this extension.
CREATE EXTENSION IF NOT EXISTS pg_trgm;

-- The folder of each workspace: where it was moved, its Threads follow at the next start.
CREATE TABLE folder (
    workspace text COLLATE "C" PRIMARY KEY,
    directory text NOT NULL,                        -- inode and time of birth
    path      text NOT NULL
);

-- One row a Thread: what lists show and what an owner needs to start, without its Turns.
CREATE TABLE thread (
    workspace        text COLLATE "C" NOT NULL,
    thread_id        text COLLATE "C" NOT NULL,
    workspace_path   text COLLATE "C" NOT NULL,
    user_id          text COLLATE "C",
    origin_channel   text COLLATE "C" NOT NULL,
    channel_context  text COLLATE "C",
    source           text NOT NULL,
    history_mode     text NOT NULL,
    created_at       bigint NOT NULL,
    metadata         text NOT NULL,
    display_name     text COLLATE "C",              -- without zero bytes
    status           text NOT NULL DEFAULT 'active',
    last_active_at   bigint NOT NULL DEFAULT 0,
    last_turn        bigint NOT NULL DEFAULT 0,     -- highest Turn number ever given; never reused
    turn_count       bigint NOT NULL DEFAULT 0,
    running          boolean NOT NULL DEFAULT false, -- lists show activity without loading anything
    waiting_approval boolean NOT NULL DEFAULT false,
    waiting_input    boolean NOT NULL DEFAULT false,
    plan_pending     boolean NOT NULL DEFAULT false,
    context_tokens   bigint NOT NULL DEFAULT 0,
    context_window   bigint,                        -- as of the last call of the model
    compact_at       bigint,
    config           text,
    model            text,                          -- of `config`; Turns take it at their start
    queue            text NOT NULL DEFAULT '[]',
    plan             text,
    grants           text NOT NULL DEFAULT '[]',    -- scope keys accepted for this session; cleared at start
    tools            text,                          -- tools that a client declared and runs itself
    head_seq         bigint NOT NULL DEFAULT 0,     -- no Seq above this was ever shown; numbering goes on above it
    deleted_at       bigint,                        -- set: invisible, its rows are being removed in small steps
    parent_id        text COLLATE "C",              -- of a subagent
    depth            bigint NOT NULL DEFAULT 0,     -- in the tree of subagents; the root's is 0
    edge_closed      boolean NOT NULL DEFAULT false,
    edge_updated_at  bigint,
    PRIMARY KEY (workspace, thread_id)
);
-- The order of every list, with and without subagents.
CREATE INDEX thread_by_activity ON thread (workspace, last_active_at DESC, thread_id DESC)
    WHERE deleted_at IS NULL;
CREATE INDEX thread_top_by_activity ON thread (workspace, last_active_at DESC, thread_id DESC)
    WHERE deleted_at IS NULL AND parent_id IS NULL;
CREATE INDEX thread_by_parent ON thread (workspace, parent_id, created_at, thread_id) WHERE parent_id IS NOT NULL;
CREATE INDEX thread_deleted ON thread (workspace, thread_id) WHERE deleted_at IS NOT NULL;

-- One row a Turn.
CREATE TABLE turn (
    workspace               text COLLATE "C" NOT NULL,
    thread_id               text COLLATE "C" NOT NULL,
    turn_no                 bigint NOT NULL,
    status                  text NOT NULL DEFAULT 'running',
    started_at              bigint NOT NULL,
    completed_at            bigint,
    error                   text,
    origin_channel          text COLLATE "C",
    features                text NOT NULL,
    diff_seq                bigint,                 -- newest event with the Turn's file changes
    cancelling              text,                   -- why it is being stopped: no crash lets it go on
    compacting              boolean NOT NULL DEFAULT false,
    crashes                 integer NOT NULL DEFAULT 0, -- how often the process ended while it ran; -1: in order
    history                 text,                   -- that a client handed in; gone with the Turn's end
    rolled_back_at          bigint,
    input_tokens            bigint NOT NULL DEFAULT 0,
    output_tokens           bigint NOT NULL DEFAULT 0,
    cached_input_tokens     bigint NOT NULL DEFAULT 0,
    reasoning_output_tokens bigint NOT NULL DEFAULT 0,
    cost_micros             bigint NOT NULL DEFAULT 0,
    files_changed           bigint NOT NULL DEFAULT 0,
    files_undone            boolean NOT NULL DEFAULT false,
    model                   text COLLATE "C",       -- the Thread's choice at its start; null: the usual one
    effort                  text COLLATE "C",
    requests                bigint NOT NULL DEFAULT 0, -- billed calls of models
    tool_calls              bigint NOT NULL DEFAULT 0,
    tool_ms                 bigint NOT NULL DEFAULT 0,
    tool_ms_max             bigint NOT NULL DEFAULT 0,
    errors                  bigint NOT NULL DEFAULT 0,
    compactions             bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (workspace, thread_id, turn_no)
);
-- Recovery reads it at every start; almost empty.
CREATE INDEX turn_open ON turn (workspace, thread_id) WHERE completed_at IS NULL;

-- Calls of tools (`tool:NAME`) and uses of skills (`skill:NAME`) of a Turn.
CREATE TABLE turn_use (
    workspace text COLLATE "C" NOT NULL,
    thread_id text COLLATE "C" NOT NULL,
    turn_no   bigint NOT NULL,
    key       text COLLATE "C" NOT NULL,
    count     bigint NOT NULL,
    PRIMARY KEY (workspace, thread_id, turn_no, key)
);

-- Where an Item's newest form stands. Its content is stored once, in that event.
CREATE TABLE item (
    workspace text COLLATE "C" NOT NULL,
    thread_id text COLLATE "C" NOT NULL,
    turn_no   bigint NOT NULL,
    item_no   bigint NOT NULL,
    seq       bigint NOT NULL,
    PRIMARY KEY (workspace, thread_id, turn_no, item_no)
);

-- Streamed text of Items that are still open, in pieces as checkpoints wrote them. Gone with the Item's end.
CREATE TABLE item_text (
    workspace text COLLATE "C" NOT NULL,
    thread_id text COLLATE "C" NOT NULL,
    turn_no   bigint NOT NULL,
    item_no   bigint NOT NULL,
    part_id   bigint GENERATED ALWAYS AS IDENTITY,  -- order of the pieces
    text      bytea NOT NULL,
    PRIMARY KEY (workspace, thread_id, turn_no, item_no, part_id)
);

-- The log of every Thread.
CREATE TABLE event (
    workspace text COLLATE "C" NOT NULL,
    thread_id text COLLATE "C" NOT NULL,
    seq       bigint NOT NULL,
    turn_no   bigint,
    kind      text NOT NULL,
    version   bigint NOT NULL,                      -- format of the payload; old ones are decoded, never rewritten
    fence     bigint NOT NULL,                      -- which writer's term
    at        bigint NOT NULL,
    payload   text NOT NULL,
    PRIMARY KEY (workspace, thread_id, seq)
);

-- Questions to people, open (`decision` is null) and settled. `seq` is the event that asked.
CREATE TABLE approval (
    workspace   text COLLATE "C" NOT NULL,
    thread_id   text COLLATE "C" NOT NULL,
    approval_id text COLLATE "C" NOT NULL,
    turn_no     bigint NOT NULL,
    call_id     bytea NOT NULL,
    seq         bigint NOT NULL,
    decision    text,
    PRIMARY KEY (workspace, thread_id, approval_id)
);
CREATE INDEX approval_by_turn ON approval (workspace, thread_id, turn_no);

-- Calls whose effect may have started: never repeated after a crash. The number keeps a long id out of the key.
CREATE TABLE call_started (
    workspace text COLLATE "C" NOT NULL,
    thread_id text COLLATE "C" NOT NULL,
    turn_no   bigint NOT NULL,
    call_no   bigint GENERATED ALWAYS AS IDENTITY,
    call_id   bytea NOT NULL,
    PRIMARY KEY (workspace, thread_id, turn_no, call_no)
);

-- Answers given for ever, in one workspace. `operation` has zero bytes between its parts. Commands may be longer than a
-- key may be, so the key has their digests.
CREATE TABLE approval_rule (
    workspace text COLLATE "C" NOT NULL,
    kind      text COLLATE "C" NOT NULL,
    operation bytea NOT NULL,
    target    bytea NOT NULL
);
CREATE UNIQUE INDEX approval_rule_key ON approval_rule (workspace, kind, sha256(operation), sha256(target));

-- Requests that their client named, written in the transaction of what they caused: the same name again is answered and
-- not carried out. `scope` is the Thread, or empty for requests that make one.
CREATE TABLE request (
    workspace  text COLLATE "C" NOT NULL,
    scope      text COLLATE "C" NOT NULL,
    request_id bytea NOT NULL,
    body       text NOT NULL,                       -- digest of method and params
    thread_id  text COLLATE "C" NOT NULL,
    seq        bigint,                              -- first event it caused; null for none
    at         bigint NOT NULL
);
CREATE UNIQUE INDEX request_key ON request (workspace, scope, sha256(request_id));
CREATE INDEX request_by_age ON request (workspace, at);

-- Text of the history as searches find it. Follows from the events, a moment behind them.
CREATE TABLE search_item (
    workspace text COLLATE "C" NOT NULL,
    entry     bigint GENERATED ALWAYS AS IDENTITY,  -- order of the results: what was indexed later comes first
    thread_id text COLLATE "C" NOT NULL,
    turn_no   bigint,                               -- null: the Thread's title
    item_no   bigint,
    kind      text NOT NULL,                        -- type of the Item, or 'title'
    at        bigint NOT NULL,
    text      text NOT NULL,                        -- its beginning, without zero bytes
    folded    text COLLATE "C" NOT NULL,            -- in lower case, by the server and not by the database's language
    PRIMARY KEY (workspace, entry)
);
CREATE INDEX search_item_by_thread ON search_item (workspace, thread_id);
CREATE INDEX search_item_by_text ON search_item USING gin (folded gin_trgm_ops);

-- Threads with events that are not indexed yet, and up to where they are.
CREATE TABLE search_pending (
    workspace text COLLATE "C" NOT NULL,
    thread_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (workspace, thread_id)
);
CREATE TABLE search_mark (
    workspace text COLLATE "C" NOT NULL,
    thread_id text COLLATE "C" NOT NULL,
    seq       bigint NOT NULL,
    PRIMARY KEY (workspace, thread_id)
);

-- Jobs that the server runs by the clock, and what belongs to them. Their number is bounded and all of them are read at
-- the start, so one table has every kind and no column but the content.
CREATE TABLE schedule (
    workspace text COLLATE "C" NOT NULL,
    kind      text COLLATE "C" NOT NULL,
    id        text COLLATE "C" NOT NULL,
    body      text NOT NULL,                        -- JSON
    PRIMARY KEY (workspace, kind, id)
);
