-- Only here: SQLite has one writer.
-- Locks the holders of keys, before the keys: that order holds everywhere.
-- $1 scopes · $2 keys, the callers' · $3 window, ms, or null · $4 for good · $5 run_at or null · $6 delay, µs
-- $7 now, of a test's clock
select j.id
from longshore.job j
where j.dead_at is null and j.id = any(array(
    select u.job_id
    from unnest($1::text[], $2::text[], $3::bigint[], $4::boolean[], $5::timestamptz[], $6::bigint[])
            i (scope, key, span_ms, for_good, run_at, delay)
        join longshore.unique_key u on u.scope = i.scope and u.key = longshore.unique_text(i.key, i.span_ms,
            i.for_good,
            least(coalesce(i.run_at, coalesce($7::timestamptz, statement_timestamp()) + i.delay * interval '1 microsecond'),
                timestamptz '9999-12-31 23:59:59.999999+00'))))
order by j.id
for update
