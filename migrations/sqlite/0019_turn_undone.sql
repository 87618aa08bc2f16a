-- Whether the changes of a Turn in files were undone, so that an undo is followed by that of the Turn before it.
ALTER TABLE turn ADD COLUMN files_undone INTEGER NOT NULL DEFAULT 0;
UPDATE turn SET files_undone = 1 WHERE (thread_id, turn_no) IN (
  SELECT thread_id, json_extract(payload, '$.turnReverted.turn') FROM event WHERE kind = 'turnReverted');
