-- Only here: SQLite keeps no dead row versions.
-- Those of jobs and of history that no vacuum has removed.
select coalesce(sum(s.n_dead_tup), 0)::bigint as dead
from pg_stat_user_tables s
where s.schemaname = 'longshore' and (s.relname = 'job' or s.relname like 'history%')
