-- Only here: a step of rescue.sql on SQLite.
-- The last statement of a rescue. $1 nodes · $2 now, of a test's clock
with claims as (
    delete from longshore.claim where node = any($1::uuid[]))
update longshore.node
set lost_at = coalesce($2::timestamptz, now())
where id = any($1::uuid[]) and lost_at is null
