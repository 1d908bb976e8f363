-- Only here: a step of request.sql on SQLite.
-- $1 key · $2 answer
update longshore.request set answer = $2::text where key = $1::bytea
