-- Only here: a step of token.sql on SQLite.
-- $1 hash · $2 now, of a test's clock
select id, name, prefix, role, rights, created_at, created_by, expires_at, last_used_at, revoked_at,
    revoked_at is null and (expires_at is null or expires_at > coalesce($2::timestamptz, now())) as live
from longshore.token
where hash = $1::bytea
