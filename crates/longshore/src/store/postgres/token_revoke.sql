-- Only here: a step of token.sql on SQLite.
-- $1 id · $2 now, of a test's clock
update longshore.token set revoked_at = coalesce(revoked_at, $2::timestamptz, now())
where id = $1::uuid
returning id
