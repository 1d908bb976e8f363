-- Only here: a step of node.sql on SQLite.
-- Removes a node that holds nothing, with its claims; of one that does, only ends the lease.
-- $1 node · $2 now, of a test's clock
with holds as materialized (
    select exists (
        select from longshore.claim c
            cross join unnest(c.ids) i (id)
            join longshore.job j on j.id = i.id
        where c.node = $1::uuid and j.node = $1::uuid and j.dead_at is null) as held),
claims as (
    delete from longshore.claim c using holds h where c.node = $1::uuid and not h.held),
gone as (
    delete from longshore.node n using holds h where n.id = $1::uuid and not h.held)
update longshore.node n
set expires_at = least(n.expires_at, coalesce($2::timestamptz, now()))
from holds h
where n.id = $1::uuid and h.held and n.lost_at is null
