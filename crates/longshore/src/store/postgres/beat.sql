-- Only here: a step of node.sql on SQLite.
-- Renews a node's lease, forgets claims that are over, and sees whether another node's lease has run out.
-- No row: the node is lost.
-- $1 node · $2 lease, µs · $3 claim numbers of which every job is over · $4 now, of a test's clock
-- $5 what the node is at
with alive as (
    update longshore.node
    set expires_at = coalesce($4::timestamptz, now()) + $2::bigint * interval '1 microsecond',
        state = $5::text
    where id = $1::uuid and lost_at is null
    returning id, wish),
over as (
    -- An empty one keeps a lost claim from coming true and stays; see recall_lock.sql.
    delete from longshore.claim c
    using alive a
    where c.node = a.id and c.no = any($3::bigint[]) and c.ids <> '{}')
select coalesce($4::timestamptz, now()) as now, a.wish,
    exists (
        select from longshore.node n
        where n.lost_at is null and n.expires_at <= coalesce($4::timestamptz, now()) and n.id <> a.id) as overdue
from alive a
