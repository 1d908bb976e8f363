-- Only here: SQLite's step `add_many` is as short.
-- Adds jobs as enqueue.sql does that have nothing rare: no tags, no hidden fields, no key, payloads that fit the row, ids
-- that nobody has used. Looking for these would be a quarter of the cost, an id that is there already among them: that
-- fails it whole. Answers one row for each job.
-- One array for each column, all of one length:
-- $1 id · $2 kind · $3 queue · $4 priority · $5 run_at or null · $6 delay, µs · $7 max_attempts · $8 backoff
-- $9 timeout_ms · $10 retain_ms · $11 meta · $12 payload · $13 its version
-- $14 now, of a test's clock
insert into longshore.job (id, kind, queue, priority, run_at, created_at, max_attempts, backoff, timeout_ms,
    retain_ms, meta, payload, payload_version)
select i.id, i.kind, i.queue, i.priority,
    least(coalesce(i.run_at,
            coalesce($14::timestamptz, statement_timestamp()) + i.delay * interval '1 microsecond'),
        timestamptz '9999-12-31 23:59:59.999999+00'),
    coalesce($14::timestamptz, statement_timestamp()), i.max_attempts, i.backoff::json, i.timeout_ms,
    i.retain_ms, i.meta::json, i.payload::json, i.payload_version
from unnest($1::uuid[], $2::text[], $3::text[], $4::smallint[], $5::timestamptz[], $6::bigint[], $7::int[],
        $8::text[], $9::bigint[], $10::bigint[], $11::text[], $12::text[], $13::int[])
    i (id, kind, queue, priority, run_at, delay, max_attempts, backoff, timeout_ms, retain_ms, meta, payload,
        payload_version)
returning id, run_at <= created_at + interval '1 second' as soon, run_at < created_at - interval '1 second' as early
