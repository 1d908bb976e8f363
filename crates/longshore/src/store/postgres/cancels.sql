-- Only here: a step of cancel.sql on SQLite.
-- Which running jobs of a node were asked to cancel. $1 node
select id from longshore.job
where cancel_at is not null and node = $1::uuid and dead_at is null
order by id
