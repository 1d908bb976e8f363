-- Only here: a step of node.sql on SQLite.
-- A node that works over a server and is not lost, as it joined. $1 node
select n.queues::text as queues, n.remote::text as remote, n.wish
from longshore.node n
where n.id = $1::uuid and n.lost_at is null and n.remote is not null
