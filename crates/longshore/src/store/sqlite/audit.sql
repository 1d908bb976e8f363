-- Only here: one file for what audit_*.sql do on PostgreSQL. The audit log.

-- step: begin
-- A repeat changes nothing.
-- $1 id · $2 now · $3 actor · $4 its kind · $5 its id or NULL · $6 address or NULL · $7 action
-- $8 target or NULL · $9 request or NULL
INSERT INTO longshore_audit (id, at, actor, actor_kind, actor_id, address, action, target, request_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (id) DO NOTHING;

-- step: end
-- $1 id · $2 status · $3 count or NULL · $4 why or NULL · $5 detail or NULL
UPDATE longshore_audit SET status = $2, count = $3, why = $4, detail = $5
WHERE id = $1 AND status IS NULL;

-- step: list
-- Newest first. $1 older than this id, or NULL · $2 most
SELECT id, at, actor, actor_kind, actor_id, address, action, target, request_id, status, count, why, detail
FROM longshore_audit
WHERE id < coalesce($1, x'ffffffffffffffffffffffffffffffffff')
ORDER BY id DESC
LIMIT +$2;

-- step: prune
-- $1 older than this · $2 most
DELETE FROM longshore_audit
WHERE id IN (SELECT id FROM longshore_audit WHERE at <= $1 ORDER BY at LIMIT +$2);
