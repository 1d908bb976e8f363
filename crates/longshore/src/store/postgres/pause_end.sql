-- Only here: a step of pause.sql on SQLite.
-- Ends a pause; whether it was in force. $1 scope · $2 name · $3 now, of a test's clock
delete from longshore.pause p
where p.scope = $1::text and p.name = $2::text
returning p.until is null or p.until > coalesce($3::timestamptz, now()) as held
