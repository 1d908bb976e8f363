-- Jobs by their ids. $1 ids · $2 now · $3 characters of a payload; null: all of it
select j.id, j.kind, j.queue, j.priority, j.run_at, j.created_at, j.attempt, j.max_attempts,
    j.backoff::text as backoff, j.timeout_ms, j.retain_ms, j.unique_key, j.version, j.payload_version,
    j.redacted, j.tags, j.meta::text as meta,
    case
        when $3::int is not null then left(j.payload::text, $3::int)
        when j.payload is not null then j.payload::text
        else (select p.payload::text from longshore.payload p where p.id = j.id)
    end as payload,
    octet_length(j.payload::text) as payload_bytes,
    array_to_json(j.errors)::text as errors, j.cancel_at, j.cancel_by, j.cancel_why,
    j.node, j.lease, j.leased_at, j.dead_at as finished_at, null::text as output,
    case
        when j.dead_at is not null then 'dead'
        when j.node is not null then 'running'
        when j.blocked_on > 0 then 'blocked'
        when j.run_at > $2::timestamptz then
            case when j.attempt > 0 then 'retrying' else 'scheduled' end
        else 'queued'
    end as state
from longshore.job j
where j.id = any($1::uuid[])
