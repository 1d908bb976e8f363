-- Only here: on SQLite a test's database is a file.
-- Held while the template of tests' databases is looked for or made. Goes with the connection.
-- $1 number of the lock
select pg_catalog.pg_advisory_lock($1::bigint)
