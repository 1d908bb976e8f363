-- Only here: a step of pause.sql on SQLite.
-- The pauses in force. $1 now, of a test's clock
select p.scope, p.name, p.paused_by, p.why, p.since, p.until
from longshore.pause p
where p.until is null or p.until > coalesce($1::timestamptz, now())
order by p.scope desc, p.name
