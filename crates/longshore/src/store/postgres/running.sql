-- Only here: a step of queue_counts.sql on SQLite.
-- How many jobs run, by queue. One row for each that was claimed, whatever the planner believes. $1 most
select j.queue, count(*) as running
from longshore.claim k
    cross join unnest(k.ids) i (id)
    cross join lateral (
        select job.queue
        from longshore.job
        where job.id = i.id and job.node = k.node and job.lease = k.no and job.dead_at is null
        limit 1) j
group by j.queue
order by j.queue
limit $1::bigint
