-- Only here: a step of leader.sql on SQLite.
-- Gives the lead up; the term stays, the next leader raises it. $1 node · $2 term
update longshore.leader
set node = null, expires_at = '-infinity'
where node = $1::uuid and term = $2::bigint
