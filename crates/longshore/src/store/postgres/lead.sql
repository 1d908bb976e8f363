-- Only here: a step of leader.sql on SQLite.
-- Takes the lead, or renews it; no row if another node leads. Waits 2 s at most: a leader that hung in the
-- middle of a chore holds the row until the server ends its session.
-- $1 node · $2 how long, µs · $3 now, of a test's clock
with clock as materialized (
    select coalesce($3::timestamptz, now()) as now, set_config('lock_timeout', '2s', true) as set)
update longshore.leader l
set term = case when l.node = $1::uuid and l.expires_at > c.now then l.term else l.term + 1 end,
    node = $1::uuid,
    expires_at = c.now + $2::bigint * interval '1 microsecond'
from clock c
where l.one and (l.node is null or l.node = $1::uuid or l.expires_at <= c.now)
returning l.term
