-- Only here: one file for what operation_*.sql do on PostgreSQL. Operations, and the steps of one, each inside one
-- BEGIN IMMEDIATE. Ids are sets, hex in a JSON array.

-- step: start
-- Not if there are too many; no row then, nor for a repeat. It means the jobs up to the greatest id there is.
-- $1 id · $2 action · $3 arguments · $4 query · $5 who · $6 why · $7 total · $8 whether there may be more · $9 now
-- $10 most that have not ended
INSERT INTO longshore_operation (id, action, arguments, query, asked_by, why, state, total, at_least, created_at,
    updated_at, last_id)
SELECT $1, $2, $3, $4, $5, $6, 'running', $7, $8, $9, $9, max(
    coalesce((SELECT max(id) FROM longshore_job), zeroblob(16)),
    coalesce((SELECT max(id) FROM longshore_history), zeroblob(16)))
WHERE (SELECT count(*) FROM longshore_operation WHERE ended_at IS NULL) < $10
ON CONFLICT (id) DO NOTHING
RETURNING id, action, arguments, query, asked_by, why, state, total, at_least, done, skipped, reasons, error, node,
    term, created_at, updated_at, ended_at, last_id, place;

-- step: get
-- $1 id
SELECT id, action, arguments, query, asked_by, why, state, total, at_least, done, skipped, reasons, error, node,
    term, created_at, updated_at, ended_at, last_id, place
FROM longshore_operation WHERE id = $1;

-- step: list
-- Newest first. $1 older than this id, or NULL · $2 most
SELECT id, action, arguments, query, asked_by, why, state, total, at_least, done, skipped, reasons, error, node,
    term, created_at, updated_at, ended_at, last_id, place
FROM longshore_operation
WHERE id < coalesce($1, x'ffffffffffffffffffffffffffffffffff') ORDER BY id DESC LIMIT +$2;

-- step: next
-- Which running one has waited longest for its next step.
SELECT id FROM longshore_operation WHERE ended_at IS NULL AND state = 'running' ORDER BY updated_at, id LIMIT 1;

-- step: ask
-- $1 id · $2 state · $3 now
UPDATE longshore_operation
SET state = $2, updated_at = $3, ended_at = CASE WHEN $2 IN ('running', 'paused') THEN NULL ELSE $3 END
WHERE id = $1
RETURNING id, action, arguments, query, asked_by, why, state, total, at_least, done, skipped, reasons, error, node,
    term, created_at, updated_at, ended_at, last_id, place;

-- step: step
-- How far a step came. A state that is an end ends it.
-- $1 id · $2 state · $3 place · $4 jobs changed · $5 jobs skipped · $6 reasons, JSON · $7 error or NULL · $8 node
-- $9 term · $10 now
UPDATE longshore_operation
SET state = $2, place = coalesce($3, place), done = done + $4, skipped = skipped + $5, reasons = $6, error = $7,
    node = $8, term = $9, updated_at = $10, ended_at = CASE WHEN $2 = 'running' THEN NULL ELSE $10 END
WHERE id = $1
RETURNING id, action, arguments, query, asked_by, why, state, total, at_least, done, skipped, reasons, error, node,
    term, created_at, updated_at, ended_at, last_id, place;

-- step: prune
-- $1 ended by then · $2 most
DELETE FROM longshore_operation
WHERE id IN (SELECT id FROM longshore_operation WHERE ended_at <= $1 ORDER BY ended_at LIMIT +$2);

-- step: jobs
-- What the jobs of a step are, those that have not ended. $1 ids · $2 now
SELECT id, NULL AS finished_at, 'kind:' || kind AS scope, unique_key AS key,
    CASE WHEN dead_at IS NOT NULL THEN 'dead' WHEN node IS NOT NULL THEN 'running'
        WHEN blocked_on > 0 THEN 'blocked' WHEN run_at > $2 AND attempt > 0 THEN 'retrying'
        WHEN run_at > $2 THEN 'scheduled' ELSE 'queued' END AS state
FROM longshore_job WHERE id IN (SELECT unhex(value) FROM json_each($1));

-- step: ended
-- And those that have. $1 ids
SELECT id, finished_at, 'kind:' || kind AS scope, unique_key AS key, state
FROM longshore_history WHERE id IN (SELECT unhex(value) FROM json_each($1));

-- step: restore
-- Cancelled jobs come back from history; retry.sql for many. $1 ids
INSERT INTO longshore_job
    (id, kind, queue, priority, run_at, created_at, attempt, max_attempts, backoff, timeout_ms,
     retain_ms, tags, meta, payload, errors, unique_key, part_key, payload_version,
     redacted)
SELECT id, kind, queue, priority, run_at, created_at, attempt, max_attempts, backoff, timeout_ms,
    retain_ms, tags, meta, payload, errors, unique_key, part_key, payload_version,
    redacted
FROM longshore_history WHERE id IN (SELECT unhex(value) FROM json_each($1)) AND state = 'cancelled';

-- step: forget
-- $1 ids
DELETE FROM longshore_history WHERE id IN (SELECT unhex(value) FROM json_each($1)) AND state = 'cancelled';

-- step: again
-- $1 ids · $2 now · $3 attempts each must have left
UPDATE longshore_job
SET run_at = $2, dead_at = NULL, superseded_by = NULL, throttles = 0,
    max_attempts = max(max_attempts, min(attempt + $3, 2147483647)), version = version + 1
WHERE id IN (SELECT unhex(value) FROM json_each($1)) AND node IS NULL;

-- step: ask_cancel
-- Running jobs: their nodes are told. The first to ask stays on record. $1 ids · $2 now · $3 by · $4 why
UPDATE longshore_job
SET cancel_at = coalesce(cancel_at, $2),
    cancel_by = CASE WHEN cancel_at IS NULL THEN $3 ELSE cancel_by END,
    cancel_why = CASE WHEN cancel_at IS NULL THEN $4 ELSE cancel_why END
WHERE id IN (SELECT unhex(value) FROM json_each($1)) AND node IS NOT NULL;

-- step: mark_cancel
-- Waiting jobs, about to be moved by cancel.sql. $1 ids · $2 now · $3 by · $4 why
UPDATE longshore_job SET cancel_at = $2, cancel_by = $3, cancel_why = $4
WHERE id IN (SELECT unhex(value) FROM json_each($1)) AND node IS NULL AND dead_at IS NULL;

-- step: delete
-- $1 ids
DELETE FROM longshore_job
WHERE id IN (SELECT unhex(value) FROM json_each($1)) AND (node IS NULL OR dead_at IS NOT NULL);

-- step: delete_ended
-- $1 ids
DELETE FROM longshore_history WHERE id IN (SELECT unhex(value) FROM json_each($1));

-- step: drop_aside
-- $1 ids
DELETE FROM longshore_payload WHERE id IN (SELECT unhex(value) FROM json_each($1));

-- step: drop_progress
-- $1 ids
DELETE FROM longshore_progress WHERE id IN (SELECT unhex(value) FROM json_each($1));

-- step: drop_log
-- $1 ids
DELETE FROM longshore_log WHERE id IN (SELECT unhex(value) FROM json_each($1));

-- step: edit
-- $1 ids · what is NULL stays: $2 run_at · $3 priority · $4 queue
UPDATE longshore_job
SET run_at = coalesce($2, run_at), priority = coalesce($3, priority), queue = coalesce($4, queue), version = version + 1
WHERE id IN (SELECT unhex(value) FROM json_each($1)) AND node IS NULL AND dead_at IS NULL;
