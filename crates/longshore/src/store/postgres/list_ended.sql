-- Only here: a step of list.sql on SQLite.
-- One look into history, newest first; list.sql says how. Outputs are left out: they may be large.
-- $1 below this id · $2 rows to look at · $3 kind or null · $4 queue or null · $5 states, all if empty
-- $6 most matches · $7 characters of a payload
with page as materialized (
    select w.id, w.finished_at
    from (
        select h.id, h.finished_at, h.kind, h.queue, h.state
        from longshore.history h
        where h.id < $1::uuid
        order by h.id desc
        limit $2::bigint) w
    where ($3::text is null or w.kind = $3::text) and ($4::text is null or w.queue = $4::text)
      and (cardinality($5::text[]) = 0 or w.state = any($5::text[]))
    order by w.id desc
    limit $6::bigint),
edge as materialized (
    select case when (select count(*) from page) < $6::bigint then (
        select h.id from longshore.history h where h.id < $1::uuid order by h.id desc offset $2::bigint - 1 limit 1)
    end as id)
select e.id as edge, h.id, h.kind, h.queue, h.priority, h.run_at, h.created_at, h.attempt, h.max_attempts,
    h.backoff::text as backoff, h.timeout_ms, h.retain_ms, h.unique_key, 0 as version, h.tags, h.meta::text as meta,
    left(h.payload::text, $7::int) as payload, octet_length(h.payload::text) as payload_bytes,
    array_to_json(h.errors)::text as errors, h.cancel_at, h.cancel_by, h.cancel_why,
    h.node, h.lease, h.leased_at, h.finished_at, null::text as output, h.state
from edge e
    left join (page p join longshore.history h on h.id = p.id and h.finished_at = p.finished_at) on true
order by h.id desc
