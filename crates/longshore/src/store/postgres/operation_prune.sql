-- Only here: a step of operation.sql on SQLite.
-- Operations that ended before this go, some at a time. $1 kept so long, µs · $2 most · $3 now, of a test's clock
with gone as (
    delete from longshore.operation o
    where o.id = any(array(
        select e.id from longshore.operation e
        where e.ended_at <= coalesce($3::timestamptz, now()) - $1::bigint * interval '1 microsecond'
        order by e.ended_at
        limit $2::bigint))
    returning o.id)
select count(*) from gone
