-- Lists leave subagents out unless they are asked for: however many a busy Thread has had, the first page is read without
-- a look at any of them.
CREATE INDEX thread_top_by_activity ON thread (last_active_at DESC, thread_id DESC)
    WHERE deleted_at IS NULL AND parent_id IS NULL;
