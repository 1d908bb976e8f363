-- Twin of postgres/enqueue.sql. Differs: one row a statement, all inside one BEGIN IMMEDIATE.

-- step: add
-- $1 id · $2 kind · $3 queue · $4 priority · $5 run_at · $6 created_at · $7 max_attempts · $8 backoff
-- $9 timeout_ms · $10 retain_ms · $11 tags · $12 meta · $13 payload, NULL if it lies aside
INSERT INTO longshore_job
    (id, kind, queue, priority, run_at, created_at, max_attempts, backoff, timeout_ms, retain_ms,
     tags, meta, payload)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
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
