-- Twin of postgres/finish.sql. Differs: first the copy, then the delete, inside one BEGIN IMMEDIATE.
-- `+node`: or the planner takes the node index instead of the ids. `jsonb_each` hands each element on as it was
-- parsed; `json_each` would write it out as text, to be parsed again.

-- step: keep
-- $1 node · $2 JSON array of [id in hex, lease, output or null] · $3 now
INSERT INTO longshore_history
    (id, kind, queue, priority, run_at, created_at, attempt, max_attempts, backoff, timeout_ms,
     retain_ms, tags, meta, payload, errors, unique_key, part_key, cancel_at, cancel_by, cancel_why,
     node, lease, leased_at, payload_version, redacted,
     finished_at, state, output)
SELECT j.id, j.kind, j.queue, j.priority, j.run_at, j.created_at, j.attempt, j.max_attempts,
    j.backoff, j.timeout_ms, j.retain_ms, j.tags, j.meta, j.payload, j.errors, j.unique_key,
    j.part_key, j.cancel_at, j.cancel_by, j.cancel_why, j.node, j.lease, j.leased_at,
    j.payload_version, j.redacted,
    $3, CASE WHEN j.cancel_at IS NULL THEN 'succeeded' ELSE 'cancelled' END, e.value ->> 2
FROM jsonb_each($2) AS e CROSS JOIN longshore_job AS j ON j.id = unhex(e.value ->> 0)
WHERE +j.node = $1 AND j.lease = e.value ->> 1 AND j.retain_ms IS NOT 0;

-- step: drop
-- $1 node · $2 as above. Each id with its own lease: a job that the node handed back and claimed again
-- would go without a trace if another run's lease could speak for it.
DELETE FROM longshore_job
WHERE seq IN (
    SELECT j.seq FROM jsonb_each($2) AS e CROSS JOIN longshore_job AS j ON j.id = unhex(e.value ->> 0)
    WHERE +j.node = $1 AND j.lease = e.value ->> 1)
RETURNING id, CASE WHEN cancel_at IS NULL THEN 'succeeded' ELSE 'cancelled' END AS state,
    retain_ms IS 0 AND payload IS NULL AS orphans_payload, retain_ms IS 0 AND (
        EXISTS (SELECT 1 FROM longshore_progress AS p WHERE p.id = CAST(longshore_job.id AS BLOB))
        OR EXISTS (SELECT 1 FROM longshore_log AS l WHERE l.id = CAST(longshore_job.id AS BLOB))) AS orphans_said;

-- step: drop_kept
-- The same when every one of them was kept, so that nothing has to be told: a row that comes back
-- costs a change of threads. $1 node · $2 as above
DELETE FROM longshore_job
WHERE seq IN (
    SELECT j.seq FROM jsonb_each($2) AS e CROSS JOIN longshore_job AS j ON j.id = unhex(e.value ->> 0)
    WHERE +j.node = $1 AND j.lease = e.value ->> 1);

-- step: drop_payload
-- $1 id
DELETE FROM longshore_payload WHERE id = $1;

-- step: recorded
-- Was it written before, and only the reply lost? $1 id · $2 node · $3 lease
SELECT state FROM longshore_history WHERE id = $1 AND node = $2 AND lease = $3;
