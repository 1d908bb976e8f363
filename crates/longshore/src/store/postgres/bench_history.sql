-- Only here: a step of bench.sql on SQLite.
-- Rows and bytes of history.
select (select count(*) from longshore.history) as rows,
    coalesce(sum(pg_total_relation_size(i.inhrelid)), 0)::bigint as bytes
from pg_inherits i
where i.inhparent = 'longshore.history'::regclass
