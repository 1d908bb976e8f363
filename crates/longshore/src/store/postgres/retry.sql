-- Makes a scheduled, retrying or dead job queued. Answers what it was, no row if it is not in job.
-- $1 id · $2 attempts it shall have left · $3 now, of a test's clock
with clock as materialized (
    select coalesce($3::timestamptz, now()) as now),
found as materialized (
    select j.id, j.node is not null as running, j.dead_at is not null as dead, j.blocked_on > 0 as blocked,
        j.run_at, j.attempt
    from longshore.job j
    where j.id = $1::uuid
    for update),
queued as (
    update longshore.job j
    set run_at = c.now, dead_at = null, node = null, lease = null, leased_at = null,
        superseded_by = null, throttles = 0,
        version = j.version + 1, max_attempts = greatest(j.max_attempts, least(j.attempt + $2::bigint, 2147483647))
    from found f, clock c
    where j.id = f.id and (f.dead or not f.running and not f.blocked and f.run_at > c.now))
select f.dead, f.running, f.blocked, f.run_at, f.attempt, c.now from found f, clock c
