-- Twin of postgres/bench.sql.

-- step: foreign
SELECT (SELECT count(*) FROM longshore_job WHERE kind NOT LIKE 'bench.%')
    + (SELECT count(*) FROM longshore_history WHERE kind NOT LIKE 'bench.%') AS jobs;

-- step: clear
DELETE FROM longshore_job WHERE kind LIKE 'bench.%';
DELETE FROM longshore_history WHERE kind LIKE 'bench.%';

-- step: rows
SELECT count(*) FROM longshore_history;
