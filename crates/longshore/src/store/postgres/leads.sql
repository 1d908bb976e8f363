-- Only here: a step of leader.sql on SQLite.
-- Does this node lead, under this term? Holds that so until the transaction ends.
-- $1 node · $2 term · $3 now, of a test's clock
select term from longshore.leader
where node = $1::uuid and term = $2::bigint and expires_at > coalesce($3::timestamptz, now())
for share
