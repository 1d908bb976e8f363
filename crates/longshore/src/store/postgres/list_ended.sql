-- Only here: a step of list.sql on SQLite.
-- Jobs of history by their ids; outputs are left out of previews, for they may be large.
-- $1 ids · $2 when the first of them ended · $3 when the last did · $4 characters of a payload; null: all of it
select h.id, h.kind, h.queue, h.priority, h.run_at, h.created_at, h.attempt, h.max_attempts,
    h.backoff::text as backoff, h.timeout_ms, h.retain_ms, h.unique_key, 0 as version, h.payload_version,
    h.redacted, h.tags, h.meta::text as meta,
    case
        when $4::int is not null then left(h.payload::text, $4::int)
        when h.payload is not null then h.payload::text
        else (select p.payload::text from longshore.payload p where p.id = h.id)
    end as payload,
    octet_length(h.payload::text) as payload_bytes,
    array_to_json(h.errors)::text as errors, h.cancel_at, h.cancel_by, h.cancel_why,
    h.node, h.lease, h.leased_at, h.finished_at,
    case when $4::int is null then h.output::text end as output, h.state
from longshore.history h
where h.id = any($1::uuid[])
  and h.finished_at >= $2::timestamptz and h.finished_at <= $3::timestamptz
