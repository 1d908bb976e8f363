-- Only here: SQLite asks job by job.
-- Which holders are there still, waiting or running. In a new snapshot: it sees whom the take waited for.
-- $1 ids
select j.id from longshore.job j where j.id = any($1::uuid[]) and j.dead_at is null
