-- Looks at some rows of job: how many, how many pass, which, and the last one. The filter's sets are null
-- where it says nothing; each comparison with a null is folded away, for it is planned with its values.
-- Cheap tests stand first.
-- A multirange stands in a subquery of its own, or its text would be read anew for each row.
-- $1 0: down from $2, 1: up from $2, 2: the ids $4 · $3 rows to look at · $5 ids are wanted · $6 now
-- $7 states · $8 not these ids · $9 nodes · $10 not these · kinds: $11 one of, $12 all these expressions fit, $13
-- none does · queues: $14, $15, $16 · keys: $17, $18, $19 · tags: $20 fit, $21 do not · multiranges: $22 priority,
-- $23 attempt, $24 created, $25 due, $26 ended; infinity is "never"
select count(*) as looked, count(*) filter (where s.pass) as found,
    array_agg(s.id) filter (where s.pass and $5::bool) as ids, null::timestamptz[] as ended,
    (array_agg(s.id))[count(*)] as last
from (
    select w.id,
        ($7::text[] is null or w.state = any($7::text[]))
        and ($8::uuid[] is null or w.id <> all($8::uuid[]))
        and ($9::uuid[] is null or coalesce(w.node = any($9::uuid[]), false))
        and ($10::uuid[] is null or coalesce(w.node <> all($10::uuid[]), true))
        and ($22::text is null or (select $22::text::int8multirange) @> w.priority::bigint)
        and ($23::text is null or (select $23::text::int8multirange) @> w.attempt::bigint)
        and ($24::text is null or (select $24::text::tstzmultirange) @> w.created_at)
        and ($25::text is null or (select $25::text::tstzmultirange) @> coalesce(w.run_at, 'infinity'))
        and ($26::text is null or (select $26::text::tstzmultirange) @> coalesce(w.dead_at, 'infinity'))
        and ($11::text[] is null or w.kind = any($11::text[]))
        and ($12::text[] is null or w.kind ~ all($12::text[]))
        and ($13::text[] is null or w.kind !~ all($13::text[]))
        and ($14::text[] is null or w.queue = any($14::text[]))
        and ($15::text[] is null or w.queue ~ all($15::text[]))
        and ($16::text[] is null or w.queue !~ all($16::text[]))
        and ($17::text[] is null or coalesce(split_part(w.unique_key, chr(31), 1) = any($17::text[]), false))
        and ($18::text[] is null or coalesce(split_part(w.unique_key, chr(31), 1) ~ all($18::text[]), false))
        and ($19::text[] is null or coalesce(split_part(w.unique_key, chr(31), 1) !~ all($19::text[]), true))
        and ($20::text[] is null
            or coalesce(chr(31) || array_to_string(w.tags, chr(31)) || chr(31) ~ all($20::text[]), false))
        and ($21::text[] is null
            or coalesce(chr(31) || array_to_string(w.tags, chr(31)) || chr(31) !~ all($21::text[]), true)) as pass
    from (
        select r.id, r.kind, r.queue, r.priority, r.run_at, r.created_at, r.tags, r.unique_key, r.dead_at,
            r.attempt, r.node,
            case
                when r.dead_at is not null then 'dead'
                when r.node is not null then 'running'
                when r.blocked_on > 0 then 'blocked'
                when r.run_at > $6::timestamptz then
                    case when r.attempt > 0 then 'retrying' else 'scheduled' end
                else 'queued'
            end as state
        from (
            (select j.id, j.kind, j.queue, j.priority, j.run_at, j.created_at, j.tags, j.unique_key,
                j.blocked_on, j.dead_at, j.attempt, j.node
            from longshore.job j
            where $1::int = 0 and j.id <= $2::uuid
            order by j.id desc
            limit $3::bigint)
            union all
            (select j.id, j.kind, j.queue, j.priority, j.run_at, j.created_at, j.tags, j.unique_key,
                j.blocked_on, j.dead_at, j.attempt, j.node
            from longshore.job j
            where $1::int = 1 and j.id >= $2::uuid
            order by j.id
            limit $3::bigint)
            union all
            (select j.id, j.kind, j.queue, j.priority, j.run_at, j.created_at, j.tags, j.unique_key,
                j.blocked_on, j.dead_at, j.attempt, j.node
            from longshore.job j
            where $1::int = 2 and j.id = any($4::uuid[]))) r) w) s
