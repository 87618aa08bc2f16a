-- Text of a deleted Thread leaves the index at once: without this, its letters stay in the file until the index is
-- merged. The pages themselves are overwritten by `secure_delete`, which each connection sets.
INSERT INTO search_text (search_text, rank) VALUES ('secure-delete', 1);
