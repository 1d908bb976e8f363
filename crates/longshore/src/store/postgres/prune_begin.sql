-- Only here: a step of prune.sql on SQLite.
-- The time and the rules, in the order of retention_list.sql. The waiting for a lock is bounded; and tables
-- that nobody has analysed are joined as if they were large, without compiling that for a second.
-- $1 now, of a test's clock
select coalesce($1::timestamptz, now()) as now, set_config('lock_timeout', '1s', true), set_config('enable_nestloop', 'off', true),
    set_config('jit', 'off', true),
    (select coalesce(json_agg(json_build_array(r.state, r.queue, r.kind, r.keep_ms)
            order by r.kind is null, r.queue is null, r.state is null, r.kind, r.queue, r.state),
        '[]')::text
    from longshore.retention r) as rules
