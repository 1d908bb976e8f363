-- A job, wherever it is, in one snapshot. $1 id · $2 history from here on · $3 now, of a test's clock
select j.id, j.kind, j.queue, j.priority, j.run_at, j.created_at, j.attempt, j.max_attempts,
    j.backoff::text as backoff, j.timeout_ms, j.retain_ms, j.unique_key, j.version, j.payload_version,
    j.redacted, j.tags, j.meta::text as meta,
    case when j.payload is not null then j.payload::text
        else (select p.payload::text from longshore.payload p where p.id = j.id)
    end as payload,
    array_to_json(j.errors)::text as errors, j.cancel_at, j.cancel_by, j.cancel_why,
    j.node, j.lease, j.leased_at, j.dead_at as finished_at, null::text as output,
    case
        when j.dead_at is not null then 'dead'
        when j.node is not null then 'running'
        when j.blocked_on > 0 then 'blocked'
        when j.run_at > coalesce($3::timestamptz, now()) then
            case when j.attempt > 0 then 'retrying' else 'scheduled' end
        else 'queued'
    end as state
from longshore.job j
where j.id = $1::uuid
union all
select h.id, h.kind, h.queue, h.priority, h.run_at, h.created_at, h.attempt, h.max_attempts,
    h.backoff::text, h.timeout_ms, h.retain_ms, h.unique_key, 0, h.payload_version, h.redacted, h.tags, h.meta::text,
    case when h.payload is not null then h.payload::text
        else (select p.payload::text from longshore.payload p where p.id = h.id)
    end,
    array_to_json(h.errors)::text, h.cancel_at, h.cancel_by, h.cancel_why,
    h.node, h.lease, h.leased_at, h.finished_at, h.output::text, h.state
from longshore.history h
where h.id = $1::uuid and h.finished_at >= $2::timestamptz
