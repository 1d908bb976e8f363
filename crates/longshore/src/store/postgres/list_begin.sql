-- Only here: SQLite plans without statistics of its own, and without workers.
-- The time of a list, and settings that end with its transaction: by an index even where the planner takes
-- the table for small, one row after another. $1 now, of a test's clock
select coalesce($1::timestamptz, now()) as now, set_config('enable_seqscan', 'off', true),
    set_config('jit', 'off', true), set_config('max_parallel_workers_per_gather', '0', true)
