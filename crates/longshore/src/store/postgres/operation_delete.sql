-- Only here: a step of operation.sql on SQLite.
-- Removes jobs that do not run, which this transaction has locked, from wherever they are; delete.sql for many. Answers
-- how many.
-- $1 ids · $2 ids of those in history · $3, $4 when the first and the last of these ended
with gone as (
    delete from longshore.job j
    where j.id = any($1::uuid[]) and (j.dead_at is not null or j.node is null)
    returning j.id, j.kind, j.unique_key),
ended as (
    delete from longshore.history h
    where h.id = any($2::uuid[]) and h.finished_at between $3::timestamptz and $4::timestamptz
    returning h.id, h.kind, h.unique_key),
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
select (select count(*) from gone) + (select count(*) from ended)
