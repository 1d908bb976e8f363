-- Only here: a step of rescue.sql on SQLite.
-- Takes jobs from lost nodes: queued again, dead if their attempts are used up, or cancelled if that
-- was asked for; dead as well if a newer job took the unique key. One row for each.
-- $1 ids · $2 nodes that may hold them · $3 now, of a test's clock
with clock as materialized (
    select coalesce($3::timestamptz, now()) as now),
held as materialized (
    select j.id, j.kind, j.unique_key, j.cancel_at is not null as cancelled,
        j.attempt >= j.max_attempts or j.superseded_by is not null as last,
        (j.errors || json_build_object(
            'attempt', j.attempt,
            'at', to_char(c.now at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
            'node', j.node,
            'kind', case when j.superseded_by is null then 'node_lost' else 'superseded' end,
            'message', 'the node that ran it was lost'
                || case when j.superseded_by is null then '' else '; a newer job has its unique key' end,
            'chain', json '[]'))[greatest(1, coalesce(cardinality(j.errors), 0) - 8):] as errors
    from longshore.job j, clock c
    where j.id = any($1::uuid[]) and j.node = any($2::uuid[]) and j.dead_at is null
    order by j.id
    for update of j),
ended as (
    delete from longshore.job j
    using held h
    where j.id = h.id and h.cancelled
    returning j.id, j.kind, j.queue, j.priority, j.run_at, j.created_at, j.attempt, j.max_attempts,
        j.backoff, j.timeout_ms, j.retain_ms, j.tags, j.meta, j.payload, h.errors, j.unique_key,
        j.part_key, j.payload_version, j.redacted, j.cancel_at, j.cancel_by, j.cancel_why, j.node, j.leased_at),
kept as (
    -- Without the lease: with it, a late finish of the lost node would be answered as recorded.
    insert into longshore.history (id, kind, queue, priority, run_at, created_at, attempt, max_attempts,
        backoff, timeout_ms, retain_ms, tags, meta, payload, errors, unique_key,
        part_key, payload_version, redacted, cancel_at, cancel_by, cancel_why, node, leased_at, finished_at, state)
    select e.id, e.kind, e.queue, e.priority, e.run_at, e.created_at, e.attempt, e.max_attempts,
        e.backoff, e.timeout_ms, e.retain_ms, e.tags, e.meta, e.payload, e.errors, e.unique_key,
        e.part_key, e.payload_version, e.redacted, e.cancel_at, e.cancel_by, e.cancel_why, e.node, e.leased_at, c.now, 'cancelled'
    from ended e, clock c
    where e.retain_ms is distinct from 0),
keys as materialized (
    select u.scope, u.key
    from held h
        join longshore.unique_key u on u.scope = 'kind:' || h.kind and u.key = h.unique_key and u.job_id = h.id
    where h.unique_key is not null and (h.cancelled or h.last)
    order by u.scope, u.key
    for update of u),
freed as (
    delete from longshore.unique_key u using keys k where u.scope = k.scope and u.key = k.key),
dropped as (
    delete from longshore.payload p
    where p.id = any(array(select e.id from ended e where e.retain_ms = 0 and e.payload is null))),
unsaid as (
    delete from longshore.progress p
    where p.id = any(array(select e.id from ended e where e.retain_ms = 0))),
unlogged as (
    delete from longshore.log l
    where l.id = any(array(select e.id from ended e where e.retain_ms = 0))),
released as (
    update longshore.job j
    set node = null, lease = null, leased_at = null, errors = h.errors,
        dead_at = case when h.last then c.now end,
        run_at = case when not h.last then j.run_at end
    from held h, clock c
    where j.id = h.id and not h.cancelled
    returning j.id, j.dead_at)
select e.id, 'cancelled' as became from ended e
union all
select r.id, case when r.dead_at is null then 'queued' else 'dead' end from released r
