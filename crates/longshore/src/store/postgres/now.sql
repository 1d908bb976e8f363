-- Only here: on SQLite the process tells the time.
-- The database's clock.
select clock_timestamp()
