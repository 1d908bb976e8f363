-- Twin of postgres/get.sql. Differs: history has one unique index here, so one look is enough.
-- $1 id · $2 now
SELECT id, kind, queue, priority, run_at, created_at, attempt, max_attempts, backoff, timeout_ms,
    retain_ms, unique_key, version, payload_version, redacted, tags, meta, coalesce(payload, (SELECT p.payload FROM longshore_payload AS p WHERE p.id = longshore_job.id))
        AS payload, NULL AS payload_bytes, errors, cancel_at, cancel_by, cancel_why, node, lease,
    leased_at, dead_at AS finished_at, NULL AS output,
    CASE WHEN dead_at IS NOT NULL THEN 'dead' WHEN node IS NOT NULL THEN 'running'
        WHEN blocked_on > 0 THEN 'blocked' WHEN run_at > $2 AND attempt > 0 THEN 'retrying'
        WHEN run_at > $2 THEN 'scheduled' ELSE 'queued' END AS state
FROM longshore_job WHERE id = $1
UNION ALL
SELECT id, kind, queue, priority, run_at, created_at, attempt, max_attempts, backoff, timeout_ms,
    retain_ms, unique_key, 0 AS version, payload_version, redacted, tags, meta, coalesce(payload, (SELECT p.payload FROM longshore_payload AS p WHERE p.id = longshore_history.id))
        AS payload, NULL AS payload_bytes, errors, cancel_at, cancel_by, cancel_why, node, lease,
    leased_at, finished_at, output, state
FROM longshore_history WHERE id = $1;
