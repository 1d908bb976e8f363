-- Twin of sqlite/checkup.sql. Differs: the server's settings and its oldest transaction instead of the
-- file's pages; what the schema holds is asked for by checkup_jobs.sql.
-- Of other roles' sessions a role that is not in pg_read_all_stats sees no transaction.
select current_setting('server_version_num')::int as version,
    current_setting('fsync') as fsync,
    current_setting('synchronous_commit') as synchronous_commit,
    current_setting('full_page_writes') as full_page_writes,
    current_setting('autovacuum') as autovacuum,
    clock_timestamp() as now,
    h.pid, h.application, h.seconds
from (select 1) one
    left join lateral (
        select a.pid, a.application_name as application,
            extract(epoch from clock_timestamp() - a.xact_start)::bigint as seconds
        from pg_catalog.pg_stat_activity a
        where a.xact_start is not null and a.pid <> pg_backend_pid()
          and (a.backend_xmin is not null or a.backend_xid is not null)
          and (a.datname = current_database() or a.datname is null)
        order by a.xact_start
        limit 1) h on true
