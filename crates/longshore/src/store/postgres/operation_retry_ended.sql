-- Only here: a step of operation.sql on SQLite.
-- Makes cancelled jobs queued again; retry_ended.sql for many. A row for each.
-- $1 ids · $2 attempts each shall have left · $3 now, of a test's clock · $4, $5 when the first and the last ended
with back as (
    delete from longshore.history
    where id = any($1::uuid[]) and finished_at between $4::timestamptz and $5::timestamptz
      and state = 'cancelled'
    returning id, kind, queue, priority, created_at, attempt, max_attempts,
        backoff, timeout_ms, retain_ms, tags, meta, payload, errors, unique_key, part_key,
        payload_version, redacted)
insert into longshore.job (id, kind, queue, priority, created_at, attempt, max_attempts,
    backoff, timeout_ms, retain_ms, tags, meta, payload, errors, unique_key, part_key, payload_version,
    redacted, run_at, version)
select b.id, b.kind, b.queue, b.priority, b.created_at, b.attempt,
    greatest(b.max_attempts, least(b.attempt + $2::bigint, 2147483647)),
    b.backoff, b.timeout_ms, b.retain_ms, b.tags, b.meta, b.payload, b.errors, b.unique_key, b.part_key, b.payload_version,
    b.redacted,
    coalesce($3::timestamptz, now()), 1
from back b
returning id
