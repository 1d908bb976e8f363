-- Moves runs that ended well to history. A job that was asked to cancel ends cancelled, its output kept
-- as a note; one that keeps nothing (retain_ms 0) leaves no row. One row for each job that was ours.
-- $1 node · $2 ids, growing · $3 lease of each · $4 output of each or null · $5 now, of a test's clock
with ended as (
    delete from longshore.job j
    using unnest($2::uuid[], $3::bigint[], $4::text[]) f (id, lease, output)
    where j.id = any($2::uuid[]) and j.id = f.id and j.lease = f.lease and j.node = $1::uuid
      and j.dead_at is null
    returning j.id, j.kind, j.queue, j.priority, j.run_at, j.created_at, j.attempt, j.max_attempts,
        j.backoff, j.timeout_ms, j.retain_ms, j.tags, j.meta, j.payload, j.errors, j.unique_key,
        j.part_key, j.cancel_at, j.cancel_by, j.cancel_why, j.node, j.lease, j.leased_at, f.output),
kept as (
    insert into longshore.history (id, kind, queue, priority, run_at, created_at, attempt, max_attempts,
        backoff, timeout_ms, retain_ms, tags, meta, payload, errors, unique_key,
        part_key, cancel_at, cancel_by, cancel_why, node, lease, leased_at,
        finished_at, state, output)
    select e.id, e.kind, e.queue, e.priority, e.run_at, e.created_at, e.attempt, e.max_attempts,
        e.backoff, e.timeout_ms, e.retain_ms, e.tags, e.meta, e.payload, e.errors, e.unique_key,
        e.part_key, e.cancel_at, e.cancel_by, e.cancel_why, e.node, e.lease, e.leased_at,
        coalesce($5::timestamptz, now()),
        case when e.cancel_at is null then 'succeeded' else 'cancelled' end, e.output::json
    from ended e
    where e.retain_ms is distinct from 0),
dropped as (
    delete from longshore.payload p
    where p.id = any(array(select e.id from ended e where e.retain_ms = 0 and e.payload is null)))
select e.id, e.cancel_at is not null as cancelled from ended e
