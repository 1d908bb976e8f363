-- Only here: steps of pause.sql on SQLite.
-- Pauses, or says anew who, why and how long; forgets pauses that are over. No row: there are too many others.
-- $1 scope · $2 name · $3 who or null · $4 why or null · $5 until or null · $6 mark · $7 most others
-- $8 now, of a test's clock
with clock as materialized (
    select coalesce($8::timestamptz, now()) as now),
gone as (
    delete from longshore.pause p
    using clock c
    where p.until <= c.now and (p.scope, p.name) <> ($1::text, $2::text))
insert into longshore.pause as p (scope, name, paused_by, why, since, until, mark)
select $1::text, $2::text, $3::text, $4::text, c.now, $5::timestamptz, $6::bigint
from clock c
where $7::bigint >= (
    select count(*) from longshore.pause o
    where (o.until is null or o.until > c.now) and (o.scope, o.name) <> ($1::text, $2::text))
on conflict (scope, name) do update
set paused_by = excluded.paused_by, why = excluded.why, until = excluded.until, mark = excluded.mark,
    since = case when p.until <= excluded.since then excluded.since else p.since end
returning p.since
