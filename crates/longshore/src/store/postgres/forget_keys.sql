-- Only here: a step of unique.sql on SQLite.
-- Forgets unique keys whose window is over; one that is being taken anew is passed over. Answers how many.
-- $1 most · $2 now, of a test's clock
with over as materialized (
    select u.scope, u.key
    from longshore.unique_key u
    where u.until < 'infinity' and u.until <= coalesce($2::timestamptz, now())
    order by u.until
    limit $1::bigint
    for update skip locked),
gone as (
    delete from longshore.unique_key u using over o where u.scope = o.scope and u.key = o.key returning 1)
select count(*) from gone
