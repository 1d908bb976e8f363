-- Writes how all other runs ended. A job that was asked to cancel ends cancelled, whatever the ending
-- says; one whose unique key a newer job took is dead as superseded; one that was throttled $9 times in a row
-- has failed. One row for each job that was ours: whether it ended cancelled, and else what its state follows from.
-- By id, not by ctid: the row may have been asked to cancel between the snapshot and its lock, and an
-- update by ctid would then miss it.
-- $1 node · one array for each column: $2 ids, growing · $3 lease · $4 what: failed, dead, snoozed, throttled,
-- given_back or cancelled · $5 delay, µs · $6 error without its time, or null · $7 why, or null
-- $8 now, of a test's clock · $9 throttles of one attempt
with clock as materialized (
    select coalesce($8::timestamptz, now()) as now),
held as materialized (
    -- finish.sql says why there is no join here.
    select j.id, j.kind, j.unique_key, j.lease, j.cancel_at is not null or f.what = 'cancelled' as cancelled, w.what,
        w.what = 'dead' or j.superseded_by is not null as dies, f.delay, f.why, e.errors[
            greatest(1, coalesce(cardinality(e.errors), 0) - 9):] as errors
    from clock c
        cross join lateral (
            select to_char(c.now at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at) t
        cross join longshore.job j
        cross join lateral (select width_bucket(j.id, $2::uuid[]) as n) p
        cross join lateral (
            select ($3::bigint[])[p.n] as lease, ($4::text[])[p.n] as what, ($5::bigint[])[p.n] as delay,
                ($6::text[])[p.n] as error, ($7::text[])[p.n] as why) f
        cross join lateral (
            select case
                when f.what <> 'throttled' or j.throttles + 1 < $9::int then f.what
                when j.attempt < j.max_attempts then 'failed'
                else 'dead'
            end as what) w
        cross join lateral (
            select j.errors
                || case when f.error is not null and w.what <> 'throttled' then
                    array[('{"at":"' || t.at || '",' || substr(f.error, 2))::json] end
                || case when j.superseded_by is not null then
                    array[json_build_object('attempt', j.attempt, 'at', t.at, 'node', j.node, 'kind', 'superseded',
                        'message', 'job ' || j.superseded_by || ' has its unique key', 'chain', json '[]')] end
                as errors) e
    where j.id = any($2::uuid[]) and j.node = $1::uuid and j.dead_at is null and j.lease = f.lease
    order by j.id
    for update of j),
ended as (
    delete from longshore.job j
    using held h
    where j.id = h.id and h.cancelled
    returning j.id, j.kind, j.queue, j.priority, j.run_at, j.created_at, j.attempt, j.max_attempts,
        j.backoff, j.timeout_ms, j.retain_ms, j.tags, j.meta, j.payload, h.errors, j.unique_key,
        j.part_key, j.payload_version, j.redacted, j.cancel_at, j.cancel_by, j.cancel_why, j.node, j.lease, j.leased_at, h.why),
kept as (
    insert into longshore.history (id, kind, queue, priority, run_at, created_at, attempt, max_attempts,
        backoff, timeout_ms, retain_ms, tags, meta, payload, errors, unique_key,
        part_key, payload_version, redacted, cancel_at, cancel_by, cancel_why, node, lease, leased_at,
        finished_at, state)
    select e.id, e.kind, e.queue, e.priority, e.run_at, e.created_at, e.attempt, e.max_attempts,
        e.backoff, e.timeout_ms, e.retain_ms, e.tags, e.meta, e.payload, e.errors, e.unique_key,
        e.part_key, e.payload_version, e.redacted, coalesce(e.cancel_at, c.now),
        case when e.cancel_at is null then 'handler' else e.cancel_by end,
        case when e.cancel_at is null then e.why else e.cancel_why end, e.node, e.lease, e.leased_at,
        c.now, 'cancelled'
    from ended e, clock c
    where e.retain_ms is distinct from 0),
keys as materialized (
    select u.scope, u.key
    from held h
        join longshore.unique_key u on u.scope = 'kind:' || h.kind and u.key = h.unique_key and u.job_id = h.id
    where h.unique_key is not null and (h.cancelled or h.dies)
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
        attempt = case when h.what in ('snoozed', 'throttled', 'given_back') then greatest(j.attempt - 1, 0)
            else j.attempt end,
        throttles = case h.what when 'throttled' then j.throttles + 1 when 'failed' then 0 else j.throttles end,
        dead_at = case when h.dies then c.now end,
        run_at = case
            when h.dies then null
            when h.what = 'given_back' then j.run_at
            else least(c.now + h.delay * interval '1 microsecond',
                timestamptz '9999-12-31 23:59:59.999999+00')
        end
    from held h, clock c
    where j.id = h.id and not h.cancelled
    returning j.id, h.lease, j.dead_at, j.run_at, j.attempt)
select e.id, e.lease, true as cancelled, false as dead, null::timestamptz as run_at, 0 as attempt, c.now
from ended e, clock c
union all
select r.id, r.lease, false, r.dead_at is not null, r.run_at, r.attempt, c.now
from released r, clock c
