-- Only here: a step of look.sql on SQLite.
-- The same look into history; look.sql says which parameter is what. Differs: $6 and $27 are whole days (UTC)
-- in which the jobs ended, from the first and before the second, null if any: they leave whole partitions
-- out, and within those that are left every row passes them, so no row is walked in vain.
select count(*) as looked, count(*) filter (where s.pass) as found,
    array_agg(s.id) filter (where s.pass and $5::bool) as ids, array_agg(s.finished_at) filter (where s.pass and $5::bool) as ended,
    (array_agg(s.id))[count(*)] as last
from (
    select w.id, w.finished_at,
        ($7::text[] is null or w.state = any($7::text[]))
        and ($8::uuid[] is null or w.id <> all($8::uuid[]))
        and ($9::uuid[] is null or coalesce(w.node = any($9::uuid[]), false))
        and ($10::uuid[] is null or coalesce(w.node <> all($10::uuid[]), true))
        and ($22::text is null or (select $22::text::int8multirange) @> w.priority::bigint)
        and ($23::text is null or (select $23::text::int8multirange) @> w.attempt::bigint)
        and ($24::text is null or (select $24::text::tstzmultirange) @> w.created_at)
        and ($25::text is null or (select $25::text::tstzmultirange) @> coalesce(w.run_at, 'infinity'))
        and ($26::text is null or (select $26::text::tstzmultirange) @> w.finished_at)
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
        (select h.id, h.kind, h.queue, h.priority, h.run_at, h.created_at, h.tags, h.unique_key,
            h.attempt, h.node, h.finished_at, h.state
        from longshore.history h
        where $1::int = 0 and h.id <= $2::uuid
          and ($6::timestamptz is null or h.finished_at >= $6::timestamptz)
          and ($27::timestamptz is null or h.finished_at < $27::timestamptz)
        order by h.id desc
        limit $3::bigint)
        union all
        (select h.id, h.kind, h.queue, h.priority, h.run_at, h.created_at, h.tags, h.unique_key,
            h.attempt, h.node, h.finished_at, h.state
        from longshore.history h
        where $1::int = 1 and h.id >= $2::uuid
          and ($6::timestamptz is null or h.finished_at >= $6::timestamptz)
          and ($27::timestamptz is null or h.finished_at < $27::timestamptz)
        order by h.id
        limit $3::bigint)
        union all
        (select h.id, h.kind, h.queue, h.priority, h.run_at, h.created_at, h.tags, h.unique_key,
            h.attempt, h.node, h.finished_at, h.state
        from longshore.history h
        where $1::int = 2 and h.id = any($4::uuid[])
          and ($6::timestamptz is null or h.finished_at >= $6::timestamptz)
          and ($27::timestamptz is null or h.finished_at < $27::timestamptz))) w) s
