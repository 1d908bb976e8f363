-- Twin of postgres/enqueue.sql. Differs: keys are taken one by one, all inside one BEGIN IMMEDIATE.

-- step: add_many
-- All or none: one that is there already fails it whole. With `json_each` it took twice as long: finish.sql says why.
-- $1 JSON array of [id in hex, kind, queue, priority, run_at, max_attempts, backoff, timeout_ms, retain_ms,
-- tags, meta, payload or null if it lies aside, its version, its redacted fields] · $2 created_at
INSERT INTO longshore_job
    (id, kind, queue, priority, run_at, created_at, max_attempts, backoff, timeout_ms, retain_ms,
     tags, meta, payload, payload_version, redacted)
SELECT unhex(value ->> 0), value ->> 1, value ->> 2, value ->> 3, value ->> 4, $2, value ->> 5,
    value ->> 6, value ->> 7, value ->> 8, value ->> 9, value ->> 10, value ->> 11,
    value ->> 12, value ->> 13
FROM jsonb_each($1);

-- step: add
-- $1 id · $2 kind · $3 queue · $4 priority · $5 run_at · $6 created_at · $7 max_attempts · $8 backoff
-- $9 timeout_ms · $10 retain_ms · $11 tags · $12 meta · $13 payload, NULL if it lies aside · $14 unique key
-- $15 version of the payload · $16 its redacted fields, a JSON array
INSERT INTO longshore_job
    (id, kind, queue, priority, run_at, created_at, max_attempts, backoff, timeout_ms, retain_ms,
     tags, meta, payload, unique_key, payload_version, redacted)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
ON CONFLICT (id) DO NOTHING;

-- step: add_aside
-- $1 id · $2 payload
INSERT INTO longshore_payload (id, payload) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING;

-- step: undo_ended
-- A repeat: what history already has must not run again. $1 id
DELETE FROM longshore_job WHERE id = $1 AND id IN (SELECT id FROM longshore_history WHERE id = $1);

-- step: drop_aside
-- The payload that such a repeat laid aside, if history keeps none. $1 id
DELETE FROM longshore_payload
WHERE id = $1 AND NOT EXISTS (
    SELECT 1 FROM longshore_history WHERE id = $1 AND payload IS NULL);

-- step: known
-- Is it there already? A repeat must not take its key for it again. $1 id
SELECT 1 AS known FROM longshore_job WHERE id = $1
UNION ALL
SELECT 1 FROM longshore_history WHERE id = $1;
