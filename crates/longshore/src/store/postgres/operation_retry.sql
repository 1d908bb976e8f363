-- Only here: a step of operation.sql on SQLite.
-- Makes waiting and dead jobs queued, which this transaction has locked; retry.sql for many.
-- $1 ids · $2 attempts each shall have left · $3 now, of a test's clock
update longshore.job j
set run_at = coalesce($3::timestamptz, now()), dead_at = null, node = null, lease = null, leased_at = null,
    superseded_by = null, throttles = 0, version = j.version + 1,
    max_attempts = greatest(j.max_attempts, least(j.attempt + $2::bigint, 2147483647))
where j.id = any($1::uuid[])
