-- Only here: on SQLite the runner holds these few words itself.
-- Has any migration been applied? Asks the tables of names: `to_regclass` asks the session's memory of them,
-- which is as old as the transaction, while this is asked behind a lock that the one who migrated held.
select exists (
    select from pg_catalog.pg_class c
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'longshore' and c.relname = 'migration')
