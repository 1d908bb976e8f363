-- Only here: steps of kinds.sql on SQLite.
-- Keeps what a node tells of its kinds; of two versions the greater has the say. Forgets those that nobody has told of
-- for long and that no live node runs.
-- $1 names, sorted · $2 versions or null · $3 schemas or null · $4 forget after, µs · $5 now, of a test's clock
with clock as materialized (
    select coalesce($5::timestamptz, now()) as now),
gone as (
    delete from longshore.kind k
    using clock c
    where k.seen_at < c.now - $4::bigint * interval '1 microsecond' and k.name <> all($1::text[])
      and not exists (
        select from longshore.node n
        where n.lost_at is null and n.expires_at > c.now and k.name = any(n.kinds)))
insert into longshore.kind as k (name, version, schema, seen_at)
select i.name, i.version, i.schema::json, c.now
from clock c, unnest($1::text[], $2::int[], $3::text[]) i (name, version, schema)
order by i.name
on conflict (name) do update
set version = case when coalesce(excluded.version, 0) >= coalesce(k.version, 0) then excluded.version else k.version end,
    schema = case when coalesce(excluded.version, 0) >= coalesce(k.version, 0) then excluded.schema else k.schema end,
    seen_at = excluded.seen_at
