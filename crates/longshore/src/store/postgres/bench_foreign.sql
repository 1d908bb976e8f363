-- Only here: a step of its own in sqlite/bench.sql.
select (select count(*) from longshore.job where kind not like 'bench.%')
    + (select count(*) from longshore.history where kind not like 'bench.%') as jobs
