-- The workspace's path: where the folder was moved, its Threads follow at the next start.
ALTER TABLE folder ADD COLUMN path TEXT;
