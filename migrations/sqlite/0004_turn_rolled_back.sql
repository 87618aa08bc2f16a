-- Set: the Turn was taken out of the conversation; it is kept for those who read the log.
ALTER TABLE turn ADD COLUMN rolled_back_at INTEGER;
