-- Only here: a step of operation.sql on SQLite.
-- Locks the jobs of a step that have not ended, in the order of all who lock several, and says what they are.
-- $1 ids · $2 now, of a test's clock
select j.dead_at is not null as dead, j.node is not null as running, j.blocked_on > 0 as blocked, j.run_at, j.attempt,
    coalesce($2::timestamptz, now()) as now, j.id, 'kind:' || j.kind as scope, j.unique_key as key
from longshore.job j
where j.id = any($1::uuid[])
order by j.id
for update
