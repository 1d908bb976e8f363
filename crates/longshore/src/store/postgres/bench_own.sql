-- Only here: a step of bench.sql on SQLite.
-- The benchmark's own jobs: those that have not ended, and those in history.
select (select count(*) from longshore.job where kind like 'bench.%') as waiting,
    (select count(*) from longshore.history where kind like 'bench.%') as ended
