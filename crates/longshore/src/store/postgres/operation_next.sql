-- Only here: a step of operation.sql on SQLite.
-- Which running operation has waited longest for its next step.
select id from longshore.operation where ended_at is null and state = 'running' order by updated_at, id limit 1
