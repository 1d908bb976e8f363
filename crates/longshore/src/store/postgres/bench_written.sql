-- Only here: SQLite counts nothing.
-- What the whole server has written so far. The numbers of transactions are given to those that write, so they
-- count commits without the second, or the ten, after which an idle session reports its own.
select (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint as wal_bytes,
    pg_snapshot_xmax(pg_current_snapshot())::text::bigint as transactions
