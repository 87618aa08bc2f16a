-- Whether a question of the model is open: lists show it.
ALTER TABLE thread ADD COLUMN waiting_input INTEGER NOT NULL DEFAULT 0;
