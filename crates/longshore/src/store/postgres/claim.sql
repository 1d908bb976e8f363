-- Takes queued jobs for a node. One header row (now, live, picked, what is paused, when the next job falls due if there
-- was room for more), repeated beside each job; without jobs it comes alone, with nulls.
-- $1 node · $2 claim number · $3 queues · $4 limit of each · $5 kinds · $6, $7 the marks' run_at and id, ten per
-- queue · $8 now, of a test's clock · $9 for each kind the greatest version of a payload that the node decodes.
-- $10 most of all queues together, or null
-- Whoever knows a kind knows version 1 of it, and nearly all are that: only others look theirs up
with clock as materialized (
    select coalesce($8::timestamptz, now()) as now),
-- The node must not be lost, and is not made so before this commits: rescue waits for this lock. A
-- claim need not survive a crash: its number never comes twice, so its jobs are claimed again.
me as materialized (
    select set_config('synchronous_commit', 'off', true) as set
    from longshore.node
    where id = $1::uuid and lost_at is null
    for key share),
-- Which transactions were not over when this statement began, by their ages: those that were open, and all from the
-- one that is as old as `later`.
others as materialized (
    select age(pg_snapshot_xmax(s)::xid) as later, array(select age(x::xid) from pg_snapshot_xip(s) x) as open
    from pg_current_snapshot() s),
-- Nearly always one row without anything. Read by each claim itself, so that nobody has to be told.
paused as materialized (
    select coalesce(array_agg(p.name) filter (where p.scope = 'queue'), '{}') as queues,
        coalesce(array_agg(p.name) filter (where p.scope = 'kind'), '{}') as kinds,
        bit_xor(p.mark) as mark, min(p.until) as next_end
    from longshore.pause p, clock c
    where p.until is null or p.until > c.now),
picked as materialized (
    select j.at
    from me, clock c, paused s, others o,
        unnest($3::text[], $4::int[]) with ordinality q (queue, most, n)
        cross join lateral (
            select x.at
            from generate_series(0, 9) lane
                cross join lateral (
                    select job.ctid as at
                    from longshore.job
                    where job.queue = q.queue and job.priority = lane
                      and job.run_at <= c.now and job.part_key is null
                      and job.node is null and job.dead_at is null and job.cancel_at is null
                      and job.blocked_on = 0 and job.kind = any($5::text[])
                      and (job.payload_version = 1 or job.payload_version <=
                          ($9::int[])[array_position($5::text[], job.kind)])
                      and job.kind <> all(s.kinds)
                      -- Not what a transaction touched that was not over when this statement began: below, it would
                      -- be skipped, or locked in a newer version, which is another's now, who then waits for us.
                      and (job.xmax = 0 or (age(job.xmax) > o.later and age(job.xmax) <> all(o.open)))
                      and (job.run_at, job.id) > (
                          ($6::timestamptz[])[(q.n - 1) * 10 + lane + 1],
                          ($7::uuid[])[(q.n - 1) * 10 + lane + 1])
                    order by job.run_at, job.id
                    limit q.most
                    for update skip locked) x
            limit q.most) j
    where q.queue <> all(s.queues)
    limit $10::bigint),
got as (
    update longshore.job
    set node = $1::uuid, lease = $2::bigint, attempt = attempt + 1, leased_at = (select c.now from clock c)
    where ctid = any(array(select p.at from picked p))
    returning id, kind, queue, priority, run_at, attempt, max_attempts, backoff, timeout_ms, meta, payload,
        payload_version, redacted),
note as (
    insert into longshore.claim (node, no, ids)
    select $1::uuid, $2::bigint, array_agg(g.id) from got g having count(*) > 0)
select h.now, h.live, h.picked, h.mark, h.next_end, h.next_due, g.id, g.kind, g.queue, g.priority, g.run_at, g.attempt, g.max_attempts,
    g.backoff::text as backoff, g.timeout_ms, g.meta::text as meta,
    case when g.payload is not null then g.payload::text
        else (select p.payload::text from longshore.payload p where p.id = g.id)
    end as payload, g.payload_version, g.redacted
from (
    select c.now, exists (select from me) as live, (select count(*) from picked) as picked, s.mark, s.next_end,
        case when (select count(*) from picked)
            < (select least(sum(q.most), $10::bigint) from unnest($4::int[]) q (most)) then (
            -- One look at the claim index for each lane, whatever the job is.
            select min(x.run_at)
            from unnest($3::text[]) q (queue)
                cross join generate_series(0, 9) lane
                cross join lateral (
                    select job.run_at
                    from longshore.job
                    where job.queue = q.queue and job.priority = lane
                      and job.run_at > (select k.now from clock k) and job.part_key is null
                    order by job.run_at, job.id
                    limit 1) x)
        end as next_due
    from clock c, paused s) h
    left join got g on true
