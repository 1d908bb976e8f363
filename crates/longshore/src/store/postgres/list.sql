-- One look into job, newest first. Answers the oldest row looked at (null: the page is full, or the table
-- ended) beside each match; without one the row comes alone, with nulls. Payloads are previews.
-- $1 below this id · $2 rows to look at · $3 kind or null · $4 queue or null · $5 states, all if empty
-- $6 most matches · $7 now, of a test's clock · $8 characters of a payload
with page as materialized (
    select w.id, w.state
    from (
        select j.id, j.kind, j.queue,
            case
                when j.dead_at is not null then 'dead'
                when j.node is not null then 'running'
                when j.blocked_on > 0 then 'blocked'
                when j.run_at > coalesce($7::timestamptz, now()) then
                    case when j.attempt > 0 then 'retrying' else 'scheduled' end
                else 'queued'
            end as state
        from longshore.job j
        where j.id < $1::uuid
        order by j.id desc
        limit $2::bigint) w
    where ($3::text is null or w.kind = $3::text) and ($4::text is null or w.queue = $4::text)
      and (cardinality($5::text[]) = 0 or w.state = any($5::text[]))
    order by w.id desc
    limit $6::bigint),
edge as materialized (
    select case when (select count(*) from page) < $6::bigint then (
        select j.id from longshore.job j where j.id < $1::uuid order by j.id desc offset $2::bigint - 1 limit 1)
    end as id)
select e.id as edge, j.id, j.kind, j.queue, j.priority, j.run_at, j.created_at, j.attempt, j.max_attempts,
    j.backoff::text as backoff, j.timeout_ms, j.retain_ms, j.unique_key, j.version, j.tags, j.meta::text as meta,
    left(j.payload::text, $8::int) as payload, octet_length(j.payload::text) as payload_bytes,
    array_to_json(j.errors)::text as errors, j.cancel_at, j.cancel_by, j.cancel_why,
    j.node, j.lease, j.leased_at, j.dead_at as finished_at, null::text as output, p.state
from edge e
    left join (page p join longshore.job j on j.id = p.id) on true
order by j.id desc
