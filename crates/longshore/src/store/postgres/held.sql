-- Only here: a step of node.sql on SQLite, where no claims are noted down.
-- What a node holds, but for some jobs, in the order they should start. On the way the notes of claims of which
-- every job is over are forgotten: a claim writes its note and its jobs in one statement, so whoever sees the one
-- sees the others. Need not survive a crash. Columns as in claim.sql, its header left out, and then the lease.
-- $1 node · $2 ids to leave out · $3 most
with calm as materialized (
    select set_config('synchronous_commit', 'off', true) as set),
held as materialized (
    select c.no, j.id
    from calm, longshore.claim c
        cross join unnest(c.ids) i (id)
        join longshore.job j on j.id = i.id
    where c.node = $1::uuid and j.node = $1::uuid and j.lease = c.no and j.dead_at is null),
over as (
    -- An empty one keeps a lost claim from coming true and stays; see recall_lock.sql.
    delete from longshore.claim c
    where c.node = $1::uuid and c.ids <> '{}' and not exists (select from held h where h.no = c.no))
select j.id, j.kind, j.queue, j.priority, j.run_at, j.attempt, j.max_attempts,
    j.backoff::text as backoff, j.timeout_ms, j.meta::text as meta,
    case when j.payload is not null then j.payload::text
        else (select p.payload::text from longshore.payload p where p.id = j.id)
    end as payload, j.payload_version, j.redacted, j.lease
from held h
    join longshore.job j on j.id = h.id
where h.id <> all($2::uuid[])
order by j.priority, j.run_at, j.id
limit $3::bigint
