-- Only here: SQLite asks job by job.
-- Which of these jobs are there already: a repeat must not take their keys for them again.
-- $1 ids
select j.id from longshore.job j where j.id = any($1::uuid[])
union all
select h.id from longshore.history h where h.id = any($1::uuid[])
