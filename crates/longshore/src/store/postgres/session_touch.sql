-- Only here: a step of session.sql on SQLite.
-- $1 id · $2 now, of a test's clock
update longshore.session set seen_at = coalesce($2::timestamptz, now())
where id = $1::uuid and seen_at <= coalesce($2::timestamptz, now()) - interval '1 minute'
