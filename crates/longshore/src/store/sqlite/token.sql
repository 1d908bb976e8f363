-- Only here: one file for what token_*.sql do on PostgreSQL. Tokens of the API.

-- step: add
-- No row if there are too many live ones; a repeat changes nothing.
-- $1 id · $2 name · $3 hash · $4 prefix · $5 role or NULL · $6 rights, JSON · $7 by · $8 expires_at or NULL
-- $9 now · $10 most live ones
INSERT INTO longshore_token (id, name, hash, prefix, role, rights, created_by, expires_at, created_at)
SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9
WHERE (SELECT count(*) FROM longshore_token
    WHERE id != $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $9)) < $10
ON CONFLICT (id) DO UPDATE SET name = excluded.name
RETURNING created_at;

-- step: list
-- Live ones first, newest first. $1 now · $2 most
SELECT id, name, prefix, role, rights, created_at, created_by, expires_at, last_used_at, revoked_at,
    revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1) AS live
FROM longshore_token
ORDER BY live DESC, id DESC
LIMIT +$2;

-- step: find
-- $1 hash · $2 now
SELECT id, name, prefix, role, rights, created_at, created_by, expires_at, last_used_at, revoked_at,
    revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2) AS live
FROM longshore_token
WHERE hash = $1;

-- step: touch
-- $1 id · $2 now · $3 a minute ago
UPDATE longshore_token SET last_used_at = $2
WHERE id = $1 AND (last_used_at IS NULL OR last_used_at <= $3);

-- step: revoke
-- $1 id · $2 now
UPDATE longshore_token SET revoked_at = coalesce(revoked_at, $2) WHERE id = $1;
