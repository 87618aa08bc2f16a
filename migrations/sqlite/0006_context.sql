-- The window that a Thread's occupancy is measured against, as of its last model call: clients are shown thresholds
-- that are those of the model. Null: no model call has said.
ALTER TABLE thread ADD COLUMN context_window INTEGER;
ALTER TABLE thread ADD COLUMN compact_at     INTEGER;

-- What a Turn has cost so far, millionths of the currency prices are given in: its limit outlives the server.
ALTER TABLE turn ADD COLUMN cost_micros INTEGER NOT NULL DEFAULT 0;
-- Whether its conversation is just being summed up: who was told of the beginning is told of the end.
ALTER TABLE turn ADD COLUMN compacting  INTEGER NOT NULL DEFAULT 0;
