-- Only here: a step of node.sql on SQLite.
-- What ends of runs need to know of them; those of these jobs that the node holds. $1 node · $2 ids
-- $3 now, of a test's clock
select j.id, j.lease, j.kind, j.queue, j.attempt, j.max_attempts, j.backoff::text as backoff,
    (extract(epoch from coalesce($3::timestamptz, now()) - j.leased_at) * 1000000)::bigint as ran
from longshore.job j
where j.id = any($2::uuid[]) and j.node = $1::uuid and j.dead_at is null
