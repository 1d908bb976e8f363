-- Only here: a step of token.sql on SQLite.
-- Tokens, live ones first, newest first. $1 now, of a test's clock · $2 most
select id, name, prefix, role, rights, created_at, created_by, expires_at, last_used_at, revoked_at,
    revoked_at is null and (expires_at is null or expires_at > coalesce($1::timestamptz, now())) as live
from longshore.token
order by live desc, id desc
limit $2::bigint
