-- Twin of postgres/list.sql. Each look walks a bounded number of rows, newest first, and filters them.
-- $1 ids below this · $2 now · $3 kind or NULL · $4 queue or NULL · $5 states, a JSON array, or NULL
-- $6 page size · $7 rows to look at

-- step: hot
SELECT id, kind, queue, priority, run_at, created_at, attempt, max_attempts, backoff, timeout_ms,
    retain_ms, unique_key, version, tags, meta, substr(payload, 1, 200) AS payload, octet_length(payload) AS payload_bytes, errors, cancel_at, cancel_by, cancel_why, node, lease,
    leased_at, dead_at AS finished_at, NULL AS output, state
FROM (
    SELECT id, kind, queue, priority, run_at, created_at, attempt, max_attempts, backoff, timeout_ms,
        retain_ms, unique_key, version, tags, meta, payload, errors, cancel_at, cancel_by, cancel_why, node, lease,
        leased_at, dead_at,
        CASE WHEN dead_at IS NOT NULL THEN 'dead' WHEN node IS NOT NULL THEN 'running'
            WHEN blocked_on > 0 THEN 'blocked' WHEN run_at > $2 AND attempt > 0 THEN 'retrying'
            WHEN run_at > $2 THEN 'scheduled' ELSE 'queued' END AS state
    FROM longshore_job WHERE id < $1 ORDER BY id DESC LIMIT $7)
WHERE ($3 IS NULL OR kind = $3) AND ($4 IS NULL OR queue = $4)
    AND ($5 IS NULL OR state IN (SELECT value FROM json_each($5)))
ORDER BY id DESC LIMIT $6;

-- step: cold
-- $2 now is not needed here
SELECT id, kind, queue, priority, run_at, created_at, attempt, max_attempts, backoff, timeout_ms,
    retain_ms, unique_key, version, tags, meta, substr(payload, 1, 200) AS payload, octet_length(payload) AS payload_bytes, errors, cancel_at, cancel_by, cancel_why, node, lease,
    leased_at, finished_at, NULL AS output, state
FROM (
    SELECT id, kind, queue, priority, run_at, created_at, attempt, max_attempts, backoff, timeout_ms,
        retain_ms, unique_key, 0 AS version, tags, meta, payload, errors, cancel_at, cancel_by, cancel_why, node, lease,
        leased_at, finished_at, state
    FROM longshore_history WHERE id < $1 ORDER BY id DESC LIMIT $7)
WHERE ($3 IS NULL OR kind = $3) AND ($4 IS NULL OR queue = $4)
    AND ($5 IS NULL OR state IN (SELECT value FROM json_each($5)))
ORDER BY id DESC LIMIT $6;

-- step: last_hot
-- The oldest row of a full look. $1 ids below this · $2 rows to look at
SELECT id FROM longshore_job WHERE id < $1 ORDER BY id DESC LIMIT 1 OFFSET $2 - 1;

-- step: last_cold
SELECT id FROM longshore_history WHERE id < $1 ORDER BY id DESC LIMIT 1 OFFSET $2 - 1;
