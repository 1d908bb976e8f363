-- Only here: a step of operation.sql on SQLite.
-- Jobs that are to run again take their keys again, in one order; of several with one key the first. Answers who
-- holds each key then. retry.sql and unique_retake.sql do the same for one job.
-- $1 ids · $2 scopes · $3 keys, as stored · $4 now, of a test's clock
insert into longshore.unique_key as u (scope, key, job_id, until)
select distinct on (w.scope, w.key) w.scope, w.key, w.id,
    longshore.unique_until(w.key, coalesce($4::timestamptz, now()))
from unnest($1::uuid[], $2::text[], $3::text[]) w (id, scope, key)
order by w.scope, w.key, w.id
on conflict (scope, key) do update set
    job_id = case when u.until <= coalesce($4::timestamptz, now()) then excluded.job_id else u.job_id end,
    until = case when u.until <= coalesce($4::timestamptz, now()) then excluded.until else u.until end
returning u.job_id as holder, u.scope, u.key, u.until is null as while_active
