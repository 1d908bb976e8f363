-- Only here: SQLite has no partitions.
-- The days of history, and how large they are. One that is not attached any more, or only half, was left
-- by an attempt to take it away that was cut off.
select c.relname::text as name, coalesce(i.inhparent = 'longshore.history'::regclass, false) as attached,
    coalesce(i.inhdetachpending, false) as pending,
    coalesce(pg_relation_size(c.oid), 0) / current_setting('block_size')::bigint as pages
from pg_class c
    left join pg_inherits i on i.inhrelid = c.oid
where c.relnamespace = 'longshore'::regnamespace and c.relkind = 'r' and c.relname ~ '^history_[0-9]{8}$'
order by c.relname
