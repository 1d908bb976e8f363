-- Only here: a step of session.sql on SQLite.
-- $1 id
delete from longshore.session where id = $1::uuid
returning id
