-- Only here: a step of rescue.sql on SQLite.
-- Walks some jobs by id: running ones whose node is lost or gone. Answers how far it came (null: to the
-- end), beside each such job; without one the row comes alone, with nulls.
-- $1 after this id · $2 rows to look at
with walked as materialized (
    select j.id, j.node, j.dead_at
    from longshore.job j
    where j.id > $1::uuid
    order by j.id
    limit $2::bigint),
stray as (
    select w.id, w.node
    from walked w
    where w.node is not null and w.dead_at is null
      and not exists (select from longshore.node n where n.id = w.node and n.lost_at is null))
select e.id as walked_to, s.id, s.node
from (select case when (select count(*) from walked) = $2::bigint
        then (select w.id from walked w order by w.id desc limit 1) end as id) e
    left join stray s on true
