-- Only here: several steps of queue_counts.sql on SQLite.
-- Counts the queues that have due jobs or a live node, and forgets all others. Answers whether this node leads; if
-- not, nothing is counted or written. Such a count need not survive a crash. And whether an operation runs.
-- $1 node · $2 term · $3 deepest count · $4 most queues · $5 now, of a test's clock
with recursive clock as materialized (
    select coalesce($5::timestamptz, now()) as now),
-- Without a lock: what an old leader wrote last was true when it looked, and the next count replaces it.
leads as materialized (
    select set_config('synchronous_commit', 'off', true) as set
    from longshore.leader l, clock c
    where l.node = $1::uuid and l.term = $2::bigint and l.expires_at > c.now),
-- One look at the claim index for each queue, however many jobs it has.
filled (queue) as (
    (select j.queue from longshore.job j, leads where j.part_key is null order by j.queue limit 1)
    union all
    select (
        select j.queue from longshore.job j
        where j.part_key is null and j.queue > f.queue
        order by j.queue limit 1)
    from filled f
    where f.queue is not null),
served as materialized (
    select q.value ->> 0 as queue
    from leads, clock c, longshore.node n cross join lateral json_array_elements(n.queues) q (value)
    where n.lost_at is null and n.expires_at > c.now),
names as materialized (
    select u.queue collate "C" as queue, bool_or(u.served) as served
    from (
        select f.queue, false as served from (select filled.queue from filled limit $4::bigint) f
        union all
        select s.queue, true from served s) u
    where u.queue is not null
    group by 1
    order by 1
    limit $4::bigint),
counted as materialized (
    select n.queue, n.served, d.depth, o.oldest_at
    from names n, clock c
        cross join lateral (
            select count(*) as depth
            from (
                select 1
                from generate_series(0, 9) lane
                    cross join lateral (
                        select job.run_at
                        from longshore.job
                        where job.queue = n.queue and job.priority = lane
                          and job.run_at <= c.now and job.part_key is null
                          and job.node is null and job.dead_at is null and job.cancel_at is null
                          and job.blocked_on = 0
                        order by job.run_at, job.id
                        limit $3::bigint + 1) x
                limit $3::bigint + 1) y) d
        cross join lateral (
            select min(x.run_at) as oldest_at
            from generate_series(0, 9) lane
                cross join lateral (
                    select job.run_at
                    from longshore.job
                    where job.queue = n.queue and job.priority = lane
                      and job.run_at <= c.now and job.part_key is null
                      and job.node is null and job.dead_at is null and job.cancel_at is null
                      and job.blocked_on = 0
                    order by job.run_at, job.id
                    limit 1) x) o),
gone as (
    delete from longshore.queue_stats s
    using leads
    where not exists (
        select from counted k where k.queue = s.queue and (k.served or k.depth > 0))),
kept as (
    insert into longshore.queue_stats (queue, depth, capped, oldest_at, counted_at)
    select k.queue, least(k.depth, $3::bigint), k.depth > $3::bigint, k.oldest_at, c.now
    from counted k, clock c
    where k.served or k.depth > 0
    order by k.queue
    on conflict (queue) do update
    set depth = excluded.depth, capped = excluded.capped, oldest_at = excluded.oldest_at,
        counted_at = excluded.counted_at)
select exists (select from leads) as leads, exists (select from counted k where k.depth > 0) as waiting,
    exists (select from longshore.operation where ended_at is null and state = 'running') as operates
