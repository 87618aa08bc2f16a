-- What a Turn used besides tokens, so that a history of usage reads no events.
ALTER TABLE turn ADD COLUMN model       TEXT;                       -- the Thread's choice at its start; null: the usual one
ALTER TABLE turn ADD COLUMN requests    INTEGER NOT NULL DEFAULT 0; -- billed calls of models
ALTER TABLE turn ADD COLUMN tool_calls  INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turn ADD COLUMN tool_ms     INTEGER NOT NULL DEFAULT 0; -- time of tools, where clients had it recorded
ALTER TABLE turn ADD COLUMN tool_ms_max INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turn ADD COLUMN errors      INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turn ADD COLUMN compactions INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turn ADD COLUMN used        TEXT NOT NULL DEFAULT '{}'; -- calls by `tool:NAME`, uses by `skill:NAME`; JSON
UPDATE turn SET model = (SELECT json_extract(config, '$.model') FROM thread WHERE thread.thread_id = turn.thread_id);
