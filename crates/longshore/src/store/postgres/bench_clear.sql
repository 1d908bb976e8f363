-- Only here: a step of its own in sqlite/bench.sql.
with jobs as (delete from longshore.job where kind like 'bench.%')
delete from longshore.history where kind like 'bench.%'
