-- Twin of postgres/retry.sql. Differs: steps inside one BEGIN IMMEDIATE.

-- step: restore
-- A cancelled job comes back from history. $1 id
INSERT INTO longshore_job
    (id, kind, queue, priority, run_at, created_at, attempt, max_attempts, backoff, timeout_ms,
     retain_ms, tags, meta, payload, errors, unique_key, part_key, payload_version,
     redacted)
SELECT id, kind, queue, priority, run_at, created_at, attempt, max_attempts, backoff, timeout_ms,
    retain_ms, tags, meta, payload, errors, unique_key, part_key, payload_version,
    redacted
FROM longshore_history WHERE id = $1 AND state = 'cancelled';

-- step: forget
-- $1 id
DELETE FROM longshore_history WHERE id = $1 AND state = 'cancelled';

-- step: again
-- $1 id · $2 now · $3 attempts it must have left. As many as postgres has room for, at most.
UPDATE longshore_job
SET run_at = $2, dead_at = NULL, superseded_by = NULL, throttles = 0, max_attempts = max(max_attempts, min(attempt + $3, 2147483647)),
    version = version + 1
WHERE id = $1 AND node IS NULL;
