-- Only here: a step of operation.sql on SQLite.
-- Ends waiting jobs as cancelled, or asks the nodes of running ones; cancel.sql for many, which this transaction has
-- locked. Answers how many.
-- $1 ids · $2 who · $3 why · $4 now, of a test's clock
with clock as materialized (
    select coalesce($4::timestamptz, now()) as now),
gone as (
    delete from longshore.job j
    where j.id = any($1::uuid[]) and j.node is null and j.dead_at is null
    returning j.id, j.kind, j.queue, j.priority, j.run_at, j.created_at, j.attempt, j.max_attempts,
        j.backoff, j.timeout_ms, j.retain_ms, j.tags, j.meta, j.payload, j.errors, j.unique_key, j.part_key,
        j.payload_version, j.redacted),
kept as (
    insert into longshore.history (id, kind, queue, priority, run_at, created_at, attempt, max_attempts,
        backoff, timeout_ms, retain_ms, tags, meta, payload, errors, unique_key,
        part_key, payload_version, redacted, cancel_at, cancel_by, cancel_why, finished_at, state)
    select g.id, g.kind, g.queue, g.priority, g.run_at, g.created_at, g.attempt, g.max_attempts,
        g.backoff, g.timeout_ms, g.retain_ms, g.tags, g.meta, g.payload, g.errors, g.unique_key,
        g.part_key, g.payload_version, g.redacted, c.now, $2::text, $3::text, c.now, 'cancelled'
    from gone g, clock c
    where g.retain_ms is distinct from 0),
keys as materialized (
    select u.scope, u.key
    from gone g
        join longshore.unique_key u on u.scope = 'kind:' || g.kind and u.key = g.unique_key and u.job_id = g.id
    where g.unique_key is not null
    order by u.scope, u.key
    for update of u),
freed as (
    delete from longshore.unique_key u using keys k where u.scope = k.scope and u.key = k.key),
dropped as (
    delete from longshore.payload p
    where p.id = any(array(select g.id from gone g where g.retain_ms = 0 and g.payload is null))),
unsaid as (
    delete from longshore.progress p
    where p.id = any(array(select g.id from gone g where g.retain_ms = 0))),
unlogged as (
    delete from longshore.log l
    where l.id = any(array(select g.id from gone g where g.retain_ms = 0))),
asked as (
    -- Who asked first stays.
    update longshore.job j
    set cancel_at = c.now, cancel_by = $2::text, cancel_why = $3::text
    from clock c
    where j.id = any($1::uuid[]) and j.node is not null and j.dead_at is null and j.cancel_at is null)
select count(*) from longshore.job j where j.id = any($1::uuid[]) and j.dead_at is null
