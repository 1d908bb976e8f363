-- Only here: a step of request.sql on SQLite.
-- $1 key
select fingerprint, answer from longshore.request where key = $1::bytea
