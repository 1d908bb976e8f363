-- Only here: a step of rescue.sql on SQLite.
-- Forgets nodes that were lost over an hour ago and that nothing names. $1 now, of a test's clock
delete from longshore.node n
where n.lost_at < coalesce($1::timestamptz, now()) - interval '1 hour'
  and not exists (select from longshore.claim c where c.node = n.id)
