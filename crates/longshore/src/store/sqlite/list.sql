-- Twin of postgres/list.sql: jobs by their ids.
-- $1 ids, hex in a JSON array · $2 now · $3 characters of a payload; NULL: all of it

-- step: hot
SELECT id, kind, queue, priority, run_at, created_at, attempt, max_attempts, backoff, timeout_ms,
    retain_ms, unique_key, version, payload_version, redacted, tags, meta,
    CASE WHEN $3 IS NOT NULL THEN substr(payload, 1, $3)
        ELSE coalesce(payload, (SELECT p.payload FROM longshore_payload AS p WHERE p.id = longshore_job.id))
        END AS payload,
    octet_length(payload) AS payload_bytes, errors, cancel_at, cancel_by, cancel_why, node, lease,
    leased_at, dead_at AS finished_at, NULL AS output,
    CASE WHEN dead_at IS NOT NULL THEN 'dead' WHEN node IS NOT NULL THEN 'running'
        WHEN blocked_on > 0 THEN 'blocked' WHEN run_at > $2 AND attempt > 0 THEN 'retrying'
        WHEN run_at > $2 THEN 'scheduled' ELSE 'queued' END AS state
FROM longshore_job WHERE id IN (SELECT unhex(value) FROM json_each($1));

-- step: cold
-- Outputs are left out of previews, for they may be large. $2 is not needed here
SELECT id, kind, queue, priority, run_at, created_at, attempt, max_attempts, backoff, timeout_ms,
    retain_ms, unique_key, 0 AS version, payload_version, redacted, tags, meta,
    CASE WHEN $3 IS NOT NULL THEN substr(payload, 1, $3)
        ELSE coalesce(payload, (SELECT p.payload FROM longshore_payload AS p WHERE p.id = longshore_history.id))
        END AS payload,
    octet_length(payload) AS payload_bytes, errors, cancel_at, cancel_by, cancel_why, node, lease,
    leased_at, finished_at, CASE WHEN $3 IS NULL THEN output END AS output, state
FROM longshore_history WHERE id IN (SELECT unhex(value) FROM json_each($1));
