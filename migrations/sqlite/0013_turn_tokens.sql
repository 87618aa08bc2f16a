-- Users compare what a Turn read from a provider's cache, and what it thought, with all of its tokens.
ALTER TABLE turn ADD COLUMN cached_input_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turn ADD COLUMN reasoning_output_tokens INTEGER NOT NULL DEFAULT 0;
