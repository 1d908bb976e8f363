-- Only here: a step of node.sql on SQLite.
-- Asks a live node to be something. $1 node · $2 quiet, stop, or null: to serve · $3 now, of a test's clock
update longshore.node
set wish = $2::text
where id = $1::uuid and lost_at is null and expires_at > coalesce($3::timestamptz, now())
returning id
