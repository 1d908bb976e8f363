-- Only here: a step of user.sql on SQLite.
-- Whoever is signed in is signed out by the new version; who signs in at this moment is, too, though not seen here.
-- $1 name · $2 password's hash or null · $3 whether role and rights change · $4 role · $5 rights
-- $6 whether kept out, or null · $7 now, of a test's clock
with ended as (
    delete from longshore.session where user_name = $1::text
)
update longshore.user set
    password = coalesce($2::text, password),
    role = case when $3::boolean then $4::text else role end,
    rights = case when $3::boolean then $5::text[] else rights end,
    disabled_at = case when $6::boolean is null then disabled_at
        when $6::boolean then coalesce(disabled_at, $7::timestamptz, now()) end,
    changed_at = coalesce($7::timestamptz, now()),
    version = version + 1
where name = $1::text
returning name
