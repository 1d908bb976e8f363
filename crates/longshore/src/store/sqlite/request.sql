-- Only here: one file for what request_*.sql do on PostgreSQL. Requests that are carried out once.

-- step: prune
-- Each new one takes two away that are too old, so there are never many. $1 too old
DELETE FROM longshore_request WHERE key IN (
    SELECT key FROM longshore_request WHERE at <= $1 ORDER BY at LIMIT 2);

-- step: take
-- A row if the key is ours now. $1 key · $2 fingerprint · $3 now · $4 too old
INSERT INTO longshore_request (key, fingerprint, at) VALUES ($1, $2, $3)
ON CONFLICT (key) DO UPDATE SET fingerprint = excluded.fingerprint, answer = NULL, at = excluded.at
WHERE at <= $4
RETURNING 1;

-- step: find
-- $1 key
SELECT fingerprint, answer FROM longshore_request WHERE key = $1;

-- step: answer
-- $1 key · $2 answer
UPDATE longshore_request SET answer = $2 WHERE key = $1;
