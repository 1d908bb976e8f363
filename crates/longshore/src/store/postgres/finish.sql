-- Moves runs that ended well to history. A job that was asked to cancel ends cancelled, its output kept
-- as a note; one that keeps nothing (retain_ms 0) leaves no row. One row for each job that was ours.
-- Keys of unique jobs are given back in their order; a job that succeeded keeps a window and "for good".
-- No join to find each job's lease and output: a planner that expects one row of this node would compare
-- all with all (measured, 500 a call: 158 ms instead of 6). The ids grow, so width_bucket is each one's
-- place among them, by binary search. By id, not by ctid: a row that was asked to cancel meanwhile must
-- still be found.
-- $1 node · $2 ids, growing · $3 lease of each · $4 output of each or null, or null for none at all
-- $5 now, of a test's clock
with ended as (
    delete from longshore.job j
    where j.id = any($2::uuid[]) and j.node = $1::uuid and j.dead_at is null
      and j.lease = ($3::bigint[])[width_bucket(j.id, $2::uuid[])]
    returning j.id, j.kind, j.queue, j.priority, j.run_at, j.created_at, j.attempt, j.max_attempts,
        j.backoff, j.timeout_ms, j.retain_ms, j.tags, j.meta, j.payload, j.errors, j.unique_key,
        j.part_key, j.payload_version, j.redacted, j.cancel_at, j.cancel_by, j.cancel_why, j.node, j.lease, j.leased_at,
        ($4::text[])[width_bucket(j.id, $2::uuid[])] as output),
kept as (
    insert into longshore.history (id, kind, queue, priority, run_at, created_at, attempt, max_attempts,
        backoff, timeout_ms, retain_ms, tags, meta, payload, errors, unique_key,
        part_key, payload_version, redacted, cancel_at, cancel_by, cancel_why, node, lease, leased_at,
        finished_at, state, output)
    select e.id, e.kind, e.queue, e.priority, e.run_at, e.created_at, e.attempt, e.max_attempts,
        e.backoff, e.timeout_ms, e.retain_ms, e.tags, e.meta, e.payload, e.errors, e.unique_key,
        e.part_key, e.payload_version, e.redacted, e.cancel_at, e.cancel_by, e.cancel_why, e.node, e.lease, e.leased_at,
        coalesce($5::timestamptz, now()),
        case when e.cancel_at is null then 'succeeded' else 'cancelled' end, e.output::json
    from ended e
    where e.retain_ms is distinct from 0),
keys as materialized (
    select u.scope, u.key
    from ended e
        join longshore.unique_key u on u.scope = 'kind:' || e.kind and u.key = e.unique_key and u.job_id = e.id
    where e.unique_key is not null and (u.until is null or e.cancel_at is not null)
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
    where l.id = any(array(select e.id from ended e where e.retain_ms = 0)))
select e.id, e.lease, e.cancel_at is not null as cancelled from ended e
