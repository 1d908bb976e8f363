-- Only here: a step of its own in sqlite/bench.sql.
with jobs as (delete from longshore.job where kind like 'bench.%' returning id),
ended as (delete from longshore.history where kind like 'bench.%' returning id),
keys as (delete from longshore.unique_key where scope like 'kind:bench.%')
delete from longshore.payload p
where p.id in (select j.id from jobs j union all select e.id from ended e)
