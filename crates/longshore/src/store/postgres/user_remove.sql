-- Only here: a step of user.sql on SQLite.
-- $1 name
with ended as (
    delete from longshore.session where user_name = $1::text
)
delete from longshore.user where name = $1::text
returning name
