-- Twin of postgres/cancel.sql. Differs: steps inside one BEGIN IMMEDIATE.

-- step: ask
-- A running job: its node is told. The first to ask stays on record.
-- $1 id · $2 now · $3 by · $4 why
UPDATE longshore_job
SET cancel_at = coalesce(cancel_at, $2),
    cancel_by = CASE WHEN cancel_at IS NULL THEN $3 ELSE cancel_by END,
    cancel_why = CASE WHEN cancel_at IS NULL THEN $4 ELSE cancel_why END
WHERE id = $1 AND node IS NOT NULL;

-- step: mark
-- A waiting job, about to be moved. $1 id · $2 now · $3 by · $4 why
UPDATE longshore_job SET cancel_at = $2, cancel_by = $3, cancel_why = $4
WHERE id = $1 AND node IS NULL AND dead_at IS NULL;

-- step: asked
-- Which running jobs of a node were asked to cancel. The index by name: to save itself the sorting, the planner
-- walked all jobs by id (a million: 4 s, in every finish). $1 node
SELECT id FROM longshore_job INDEXED BY longshore_job_cancel
WHERE cancel_at IS NOT NULL AND +node = $1 ORDER BY id;

-- step: keep
-- Copies marked jobs to history: one, or all of a lost node. $1 id or NULL · $2 node or NULL · $3 now
INSERT INTO longshore_history
    (id, kind, queue, priority, run_at, created_at, attempt, max_attempts, backoff, timeout_ms,
     retain_ms, tags, meta, payload, errors, unique_key, part_key, cancel_at, cancel_by, cancel_why,
     node, lease, leased_at, payload_version, redacted,
     finished_at, state)
SELECT id, kind, queue, priority, run_at, created_at, attempt, max_attempts, backoff, timeout_ms,
    retain_ms, tags, meta, payload, errors, unique_key, part_key, cancel_at, cancel_by, cancel_why,
    node, lease, leased_at, payload_version, redacted,
    $3, 'cancelled'
FROM longshore_job
WHERE cancel_at IS NOT NULL AND +node IS $2 AND ($1 IS NULL OR id = $1) AND retain_ms IS NOT 0;

-- step: drop
-- And removes them. $1 id or NULL · $2 node or NULL
DELETE FROM longshore_job
WHERE cancel_at IS NOT NULL AND +node IS $2 AND ($1 IS NULL OR id = $1)
RETURNING id, retain_ms IS 0 AND payload IS NULL AS orphans_payload, retain_ms IS 0 AND (
        EXISTS (SELECT 1 FROM longshore_progress AS p WHERE p.id = CAST(longshore_job.id AS BLOB))
        OR EXISTS (SELECT 1 FROM longshore_log AS l WHERE l.id = CAST(longshore_job.id AS BLOB))) AS orphans_said;
