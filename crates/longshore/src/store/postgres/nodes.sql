-- Only here: a step of node.sql on SQLite.
-- All nodes, live ones first, newest first. $1 most · $2 now, of a test's clock
with clock as materialized (
    select coalesce($2::timestamptz, now()) as now)
select n.id, n.name, n.version, n.queues::text as queues, n.kinds, n.started_at, n.expires_at, n.lost_at,
    n.lost_at is null and n.expires_at > c.now as live, n.state, n.wish, n.remote is not null as remote,
    (select count(*)
        from longshore.claim k
            cross join unnest(k.ids) i (id)
            join longshore.job j on j.id = i.id
        where k.node = n.id and j.node = n.id and j.lease = k.no and j.dead_at is null) as running
from longshore.node n, clock c
order by live desc, n.id desc
limit $1::bigint
