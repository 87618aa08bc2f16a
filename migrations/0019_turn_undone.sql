-- Whether the changes of a Turn in files were undone, so that an undo is followed by that of the Turn before it.
ALTER TABLE turn ADD COLUMN files_undone INTEGER NOT NULL DEFAULT 0;
UPDATE turn SET files_undone = 1 WHERE EXISTS (SELECT 1 FROM event
  WHERE event.thread_id = turn.thread_id AND event.kind = 'turnReverted'
    AND json_extract(event.payload, '$.turnReverted.turn') = turn.turn_no);
