-- Only here: steps of empty.sql on SQLite.
-- Removes some jobs of a queue that wait and came by a point in time, each with its payload, its log and its unique
-- key. What a claim has locked at this moment is being taken, and is left alone. Answers how many were found and
-- removed; a row that changed meanwhile is found only.
-- $1 queue · $2 came by · $3 most
with found as materialized (
    select x.at
    from generate_series(0, 9) lane
        cross join lateral (
            select job.ctid as at
            from longshore.job
            where job.queue = $1::text and job.priority = lane and job.run_at <= 'infinity'
              and job.part_key is null
              and job.node is null and job.dead_at is null and job.cancel_at is null
              and job.created_at <= $2::timestamptz
            order by job.run_at, job.id
            limit $3::bigint
            for update skip locked) x
    limit $3::bigint),
gone as (
    delete from longshore.job
    where ctid = any(array(select f.at from found f))
    returning id, kind, unique_key),
freed as (
    delete from longshore.unique_key u
    using gone g
    where u.scope = 'kind:' || g.kind and u.key = g.unique_key and u.job_id = g.id),
dropped as (
    delete from longshore.payload p where p.id = any(array(select g.id from gone g))),
unsaid as (
    delete from longshore.progress p where p.id = any(array(select g.id from gone g))),
unlogged as (
    delete from longshore.log l where l.id = any(array(select g.id from gone g)))
select (select count(*) from found) as found, (select count(*) from gone) as removed
