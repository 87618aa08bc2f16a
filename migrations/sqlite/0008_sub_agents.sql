-- Threads that another Thread's agent started. Which one that was stands in `source` too; here it can be looked up:
-- lists leave such Threads out, and a Thread's own are found by it. What is deleted with a Thread is found so as well.
ALTER TABLE thread ADD COLUMN parent_id TEXT;
-- Depth of the tree's top is 0. Deepest first is the order in which a tree is taken down.
ALTER TABLE thread ADD COLUMN depth INTEGER NOT NULL DEFAULT 0;
-- Whether the Thread above still has to do with it, and since when.
ALTER TABLE thread ADD COLUMN edge_closed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE thread ADD COLUMN edge_updated_at INTEGER;
CREATE INDEX thread_by_parent ON thread (parent_id, created_at, thread_id) WHERE parent_id IS NOT NULL;
