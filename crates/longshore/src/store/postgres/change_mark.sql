-- Only here: SQLite's is the time and size of a file.
-- Rows of job that were added, changed and removed so far, as the server's statistics have it: no row is looked at.
select pg_stat_get_tuples_inserted(c.oid) + pg_stat_get_tuples_updated(c.oid) + pg_stat_get_tuples_deleted(c.oid) as mark
from (select 'longshore.job'::regclass::oid) c (oid)
