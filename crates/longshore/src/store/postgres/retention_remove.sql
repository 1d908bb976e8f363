-- Only here: a step of retention.sql on SQLite.
-- $1 state or null · $2 queue or null · $3 kind or null
delete from longshore.retention
where state is not distinct from $1::text and queue is not distinct from $2::text
  and kind is not distinct from $3::text
returning id
