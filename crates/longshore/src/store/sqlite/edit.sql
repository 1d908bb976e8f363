-- Twin of postgres/edit.sql, with the steps of postgres/delete.sql. Differs: steps inside one BEGIN IMMEDIATE, after the job's
-- state was looked at.

-- step: change
-- $1 id · what is NULL stays: $2 run_at · $3 priority · $4 queue · $5 tags, JSON; '[]' for none
-- $6 version of the payload · $7 its redacted fields, JSON; '[]' for none
UPDATE longshore_job
SET run_at = coalesce($2, run_at), priority = coalesce($3, priority), queue = coalesce($4, queue),
    tags = CASE WHEN $5 IS NULL THEN tags WHEN $5 = '[]' THEN NULL ELSE $5 END,
    payload_version = coalesce($6, payload_version),
    redacted = CASE WHEN $7 IS NULL THEN redacted WHEN $7 = '[]' THEN NULL ELSE $7 END, version = version + 1
WHERE id = $1 AND node IS NULL AND dead_at IS NULL
RETURNING version;

-- step: payload
-- $1 id · $2 payload, NULL if it lies aside
UPDATE longshore_job SET payload = $2 WHERE id = $1;

-- step: aside
-- $1 id · $2 payload
INSERT INTO longshore_payload (id, payload) VALUES ($1, $2)
ON CONFLICT (id) DO UPDATE SET payload = excluded.payload;

-- step: drop_aside
-- $1 id
DELETE FROM longshore_payload WHERE id = $1;

-- step: delete
-- $1 id
DELETE FROM longshore_job WHERE id = $1 AND (node IS NULL OR dead_at IS NOT NULL);

-- step: delete_ended
-- $1 id
DELETE FROM longshore_history WHERE id = $1;
