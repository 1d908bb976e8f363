-- Only here: a step of user.sql on SQLite.
-- $1 name
select name, role, rights, created_at, created_by, changed_at, disabled_at, signed_in_at, password
from longshore.user
where name = $1::text
