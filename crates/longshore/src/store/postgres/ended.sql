-- Only here: a step of get.sql on SQLite.
-- How a job ended, if it is in history. $1 id
select state from longshore.history where id = $1::uuid
