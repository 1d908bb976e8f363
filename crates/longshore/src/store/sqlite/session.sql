-- Only here: one file for what session_*.sql do on PostgreSQL. Users who have signed in.

-- step: tidy
-- What has ended of this user, and the oldest beyond the most there may be.
-- $1 user · $2 now · $3 last use that is too long ago · $4 the newest that may stay
DELETE FROM longshore_session
WHERE user_name = $1 AND (expires_at <= $2 OR seen_at <= $3 OR id NOT IN (
    SELECT id FROM longshore_session WHERE user_name = $1 ORDER BY id DESC LIMIT +$4));

-- step: add
-- No row if the user is gone, kept out, or has another password by now; a repeat changes nothing.
-- $1 id · $2 hash · $3 user · $4 password's hash · $5 now · $6 expires_at · $7 address or NULL
INSERT INTO longshore_session (id, hash, user_name, user_version, created_at, seen_at, expires_at, address)
SELECT $1, $2, name, version, $5, $5, $6, $7 FROM longshore_user
WHERE name = $3 AND password = $4 AND disabled_at IS NULL
ON CONFLICT (id) DO UPDATE SET address = excluded.address
RETURNING expires_at;

-- step: signed_in
-- $1 user · $2 now
UPDATE longshore_user SET signed_in_at = $2 WHERE name = $1;

-- step: find
-- $1 hash · $2 now · $3 last use that is too long ago
SELECT s.id, s.user_name, u.role, u.rights, s.created_at, s.seen_at, s.expires_at, s.address,
    s.expires_at > $2 AND s.seen_at > $3 AND u.disabled_at IS NULL
        AND s.user_version = u.version AS live
FROM longshore_session s JOIN longshore_user u ON u.name = s.user_name
WHERE s.hash = $1;

-- step: list
-- Newest first. $1 now · $2 last use that is too long ago · $3 most
SELECT s.id, s.user_name, u.role, u.rights, s.created_at, s.seen_at, s.expires_at, s.address,
    s.expires_at > $1 AND s.seen_at > $2 AND u.disabled_at IS NULL
        AND s.user_version = u.version AS live
FROM longshore_session s JOIN longshore_user u ON u.name = s.user_name
ORDER BY s.id DESC
LIMIT +$3;

-- step: touch
-- $1 id · $2 now · $3 a minute ago
UPDATE longshore_session SET seen_at = $2 WHERE id = $1 AND seen_at <= $3;

-- step: end
-- $1 id
DELETE FROM longshore_session WHERE id = $1;
