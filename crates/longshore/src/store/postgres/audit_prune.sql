-- Only here: a step of audit.sql on SQLite.
-- Removes some old entries, and answers how many. $1 kept so long, µs · $2 most · $3 now, of a test's clock
with old as materialized (
    select a.id
    from longshore.audit a
    where a.at <= coalesce($3::timestamptz, now()) - $1::bigint * interval '1 microsecond'
    order by a.at
    limit $2::bigint
    for update skip locked),
gone as (
    delete from longshore.audit a using old o where a.id = o.id returning 1)
select count(*) from gone
