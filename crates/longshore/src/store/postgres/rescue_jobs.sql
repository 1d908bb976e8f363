-- Only here: a step of rescue.sql on SQLite.
-- What some nodes may hold, by their claims. $1 nodes
select distinct i.id
from longshore.claim c
    cross join unnest(c.ids) i (id)
where c.node = any($1::uuid[])
