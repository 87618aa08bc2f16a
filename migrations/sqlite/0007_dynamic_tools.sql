-- Tools that a client brought along with a Thread and runs itself: one that comes back serves them again.
ALTER TABLE thread ADD COLUMN tools TEXT;
-- The conversation that a client handed in with a Turn, where it keeps the history; gone with the Turn's end.
ALTER TABLE turn ADD COLUMN history TEXT;
