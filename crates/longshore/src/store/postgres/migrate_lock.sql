-- Only here: SQLite's BEGIN IMMEDIATE does it. One migrates, the others wait; ends with the transaction.
select pg_advisory_xact_lock(hashtextextended('longshore.migration', 0))
