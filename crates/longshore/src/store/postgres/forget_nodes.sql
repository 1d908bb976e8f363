-- Only here: a step of rescue.sql on SQLite.
-- Forgets nodes that were lost over an hour ago and that nothing names. The empty notes of a recall that
-- came after the rescue name nothing, and go with their node. $1 now, of a test's clock
with forgotten as (
    delete from longshore.node n
    where n.lost_at < coalesce($1::timestamptz, now()) - interval '1 hour'
      and not exists (select from longshore.claim c where c.node = n.id and cardinality(c.ids) > 0)
    returning n.id)
delete from longshore.claim c using forgotten f where c.node = f.id
