-- What requests beside a Turn's conversation used, as that for the Thread's title: it counts for the Thread, not as the Turn's.
ALTER TABLE turn ADD COLUMN helper_input_tokens            bigint NOT NULL DEFAULT 0;
ALTER TABLE turn ADD COLUMN helper_output_tokens           bigint NOT NULL DEFAULT 0;
ALTER TABLE turn ADD COLUMN helper_cached_input_tokens     bigint NOT NULL DEFAULT 0;
ALTER TABLE turn ADD COLUMN helper_reasoning_output_tokens bigint NOT NULL DEFAULT 0;
ALTER TABLE turn ADD COLUMN helper_cost_micros             bigint NOT NULL DEFAULT 0;
