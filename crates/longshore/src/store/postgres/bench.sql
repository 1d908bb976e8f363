-- What was written so far in this database
select (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint as wal_bytes,
    (select xact_commit from pg_stat_database where datname = current_database()) as commits,
    sum(n_tup_ins)::bigint as ins,
    sum(n_tup_upd)::bigint as upd,
    sum(n_tup_hot_upd)::bigint as hot,
    sum(n_tup_del)::bigint as del
from pg_stat_user_tables
