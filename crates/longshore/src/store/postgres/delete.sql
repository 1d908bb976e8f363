-- Only here: steps of edit.sql on SQLite.
-- Removes a job that does not run, from wherever it is, with its payload, its log and its unique keys. Answers
-- what it was if it is in job, and whether it was removed there; one row in any case.
-- $1 id · $2 now, of a test's clock
with found as materialized (
    select j.id, j.node is not null as running, j.dead_at is not null as dead, j.blocked_on > 0 as blocked,
        j.run_at, j.attempt
    from longshore.job j
    where j.id = $1::uuid
    for update),
gone as (
    delete from longshore.job j
    using found f
    where j.id = f.id and (f.dead or not f.running)
    returning j.id, j.kind, j.unique_key),
ended as (
    delete from longshore.history h where h.id = $1::uuid returning h.id, h.kind, h.unique_key),
freed as (
    delete from longshore.unique_key u
    using (select g.id, g.kind, g.unique_key from gone g union all select e.id, e.kind, e.unique_key from ended e) d
    where u.scope = 'kind:' || d.kind and u.key = d.unique_key and u.job_id = d.id),
dropped as (
    delete from longshore.payload p
    where p.id = any(array(select g.id from gone g union all select e.id from ended e))),
unsaid as (
    delete from longshore.progress p
    where p.id = any(array(select g.id from gone g union all select e.id from ended e))),
unlogged as (
    delete from longshore.log l
    where l.id = any(array(select g.id from gone g union all select e.id from ended e)))
select f.dead, f.running, f.blocked, f.run_at, f.attempt, coalesce($2::timestamptz, now()),
    exists (select from gone) or exists (select from ended) as removed
from (select 1) one left join found f on true
