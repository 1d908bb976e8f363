-- Only here: a step of token.sql on SQLite.
-- $1 id · $2 now, of a test's clock
update longshore.token set last_used_at = coalesce($2::timestamptz, now())
where id = $1::uuid
  and (last_used_at is null or last_used_at <= coalesce($2::timestamptz, now()) - interval '1 minute')
