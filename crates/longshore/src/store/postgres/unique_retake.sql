-- Only here: a step of retry.sql on SQLite.
-- A job that is to run again takes its key again. Answers who holds it then: the job itself, or another.
-- $1 job · $2 now, of a test's clock
insert into longshore.unique_key as u (scope, key, job_id, until)
select 'kind:' || j.kind, j.unique_key, j.id,
    longshore.unique_until(j.unique_key, coalesce($2::timestamptz, now()))
from longshore.job j
where j.id = $1::uuid and j.unique_key is not null
on conflict (scope, key) do update set
    job_id = case when u.until <= coalesce($2::timestamptz, now()) then excluded.job_id else u.job_id end,
    until = case when u.until <= coalesce($2::timestamptz, now()) then excluded.until else u.until end
returning u.job_id as holder, u.scope, u.key, u.until is null as while_active
