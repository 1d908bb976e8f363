-- Only here: a part of checkup.sql on SQLite. Walks all of `job`, which no call that runs often does.
-- $1 now, of a test's clock
with clock as materialized (
    select coalesce($1::timestamptz, now()) as now)
select
    (select count(*)
        from longshore.job j
        where j.node is not null and j.dead_at is null
          and not exists (
            select from longshore.node n
            where n.id = j.node and n.lost_at is null and n.expires_at > c.now - interval '1 minute')) as orphans,
    -- Ids grow: what was left behind by hand is among the oldest.
    (select count(*)
        from (
            (select p.id from longshore.progress p order by p.id limit 500)
            union
            (select distinct l.id from longshore.log l order by l.id limit 500)) s
        where not exists (select from longshore.job j where j.id = s.id)
          and not exists (select from longshore.history h where h.id = s.id)) as unowned,
    (select count(*) from longshore.node n where n.lost_at is null and n.expires_at > c.now) as nodes,
    (select string_agg(i.relname, ', ' order by i.relname)
        from pg_catalog.pg_index x
            join pg_catalog.pg_class i on i.oid = x.indexrelid
            join pg_catalog.pg_namespace s on s.oid = i.relnamespace
        where s.nspname = 'longshore' and not x.indisvalid) as invalid,
    (select string_agg(d.day::text, ', ' order by d.day)
        from (select (now() at time zone 'UTC')::date + n.n as day from generate_series(0, 2) n (n)) d
        where to_regclass('longshore.history_' || to_char(d.day, 'YYYYMMDD')) is null) as missing
from clock c
