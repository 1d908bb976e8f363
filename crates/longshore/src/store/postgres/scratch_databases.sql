-- Only here: on SQLite a test's database is a file.
-- Databases that tests have made, and the template.
select d.datname as name,
       exists (select from pg_catalog.pg_stat_activity a where a.datname = d.datname) as in_use
from pg_catalog.pg_database d
where d.datname like 'longshore\_kit\_%'
