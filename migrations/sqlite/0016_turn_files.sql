-- How many files a Turn changed, commands included: lists of Turns show it without reading each diff.
ALTER TABLE turn ADD COLUMN files_changed INTEGER NOT NULL DEFAULT 0;
UPDATE turn SET files_changed = coalesce((SELECT json_array_length(payload, '$.diffUpdated.diff.files') FROM event
    WHERE event.thread_id = turn.thread_id AND event.seq = turn.diff_seq), 0) WHERE diff_seq IS NOT NULL;
