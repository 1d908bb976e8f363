-- The ids of the few jobs that an index knows, in any order, perhaps some twice. A null among them: there are
-- too many. The parts that are not asked for are folded away.
-- $1 at most so many of each · $2 dead ones · $3 running ones · $4 of these nodes, or null · $5 with these
-- keys, or null · $6 of these queues, or null · $7 claims hold at most so many ids
with held as materialized (
    -- `claim` also names jobs that are over, until the next heartbeat; node and lease tell.
    select c.node, c.no, u.id
    from longshore.claim c
        cross join lateral unnest(c.ids) u(id)
    where $3::bool and ($4::uuid[] is null or c.node = any($4::uuid[]))
    limit $7::bigint)
select array_agg(p.id) as ids
from (
    (select j.id from longshore.job j where $2::bool and j.dead_at is not null order by j.dead_at limit $1::bigint)
    union all
    (select r.id
    from held h
        cross join lateral (
            select j.id from longshore.job j where j.id = h.id and j.node = h.node and j.lease = h.no limit 1) r
    limit $1::bigint)
    union all
    select null where (select count(*) from held) >= $7::bigint
    union all
    -- What stands behind chr(31) in a stored key is its window.
    (select j.id
    from unnest($5::text[]) k(key)
        cross join lateral (
            select j.id
            from longshore.job j
            where j.unique_key >= k.key and j.unique_key < k.key || ' '
            order by j.unique_key
            limit $1::bigint) j
    limit $1::bigint)
    union all
    (select j.id
    from unnest($6::text[]) q(queue)
        cross join lateral (
            select j.id
            from longshore.job j
            where j.queue = q.queue and j.part_key is null
            order by j.priority, j.run_at, j.id
            limit $1::bigint) j
    limit $1::bigint)
    union all
    (select j.id
    from unnest($6::text[]) q(queue)
        cross join lateral (
            select j.id
            from longshore.job j
            where j.queue = q.queue and j.part_key is not null
            order by j.part_key, j.run_at, j.id
            limit $1::bigint) j
    limit $1::bigint)) p
