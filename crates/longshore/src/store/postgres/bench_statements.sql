-- Only here: SQLite counts no statements. Needs the extension pg_stat_statements.
select coalesce(sum(s.calls), 0)::bigint as statements
from pg_stat_statements s
    join pg_database d on d.oid = s.dbid and d.datname = current_database()
where s.query !~* '^\s*(begin|commit|rollback)\M' and s.query not ilike '%pg_stat%'
