-- Only here: a step of enqueue.sql on SQLite.
-- The second statement of an enqueue that may be a repeat: takes back what has ended already. It has
-- a new snapshot, so it also sees a job that ended while the insert waited for it.
-- $1 ids that the first statement added
with gone as (
    delete from longshore.job j
    where j.id = any($1::uuid[])
      and exists (select from longshore.history h where h.id = j.id)
    returning j.id, j.kind, j.unique_key),
dropped as (
    -- The payload row is ours alone if history keeps its own payload inline.
    delete from longshore.payload p
    where p.id = any(array(select g.id from gone g))
      and exists (select from longshore.history h where h.id = p.id and h.payload is not null)),
freed as (
    -- What an enqueue that must not have been has taken; a window and "for good" the job has earned.
    delete from longshore.unique_key u
    using gone g
    where u.scope = 'kind:' || g.kind and u.key = g.unique_key and u.job_id = g.id and u.until is null)
select g.id from gone g
