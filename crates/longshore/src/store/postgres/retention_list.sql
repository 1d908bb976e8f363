-- Only here: a step of retention.sql on SQLite.
-- The rules of retention, the most particular first.
select state, queue, kind, keep_ms from longshore.retention
order by kind is null, queue is null, state is null, kind, queue, state
