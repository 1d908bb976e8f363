-- Only here: one file for what user_*.sql do on PostgreSQL. People who sign in.

-- step: add
-- No row if the name is taken or there are too many; a repeat, which has the same hash, changes nothing.
-- $1 name · $2 password's hash · $3 role or NULL · $4 rights, JSON · $5 by · $6 now · $7 most
INSERT INTO longshore_user (name, password, role, rights, created_by, created_at, changed_at)
SELECT $1, $2, $3, $4, $5, $6, $6
WHERE (SELECT count(*) FROM longshore_user WHERE name != $1) < $7
ON CONFLICT (name) DO UPDATE SET password = excluded.password WHERE password = excluded.password
RETURNING created_at;

-- step: list
-- $1 most
SELECT name, role, rights, created_at, created_by, changed_at, disabled_at, signed_in_at, password
FROM longshore_user
ORDER BY name
LIMIT +$1;

-- step: find
-- $1 name
SELECT name, role, rights, created_at, created_by, changed_at, disabled_at, signed_in_at, password
FROM longshore_user
WHERE name = $1;

-- step: change
-- $1 name · $2 password's hash or NULL · $3 whether role and rights change · $4 role · $5 rights
-- $6 whether kept out, or NULL · $7 now
UPDATE longshore_user SET
    password = coalesce($2, password),
    role = iif($3, $4, role),
    rights = iif($3, $5, rights),
    disabled_at = CASE WHEN $6 IS NULL THEN disabled_at WHEN $6 THEN coalesce(disabled_at, $7) END,
    changed_at = $7,
    version = version + 1
WHERE name = $1;

-- step: end_sessions
-- $1 name
DELETE FROM longshore_session WHERE user_name = $1;

-- step: remove
-- $1 name
DELETE FROM longshore_user WHERE name = $1;
