-- Twin of postgres/bench.sql.

-- step: foreign
SELECT (SELECT count(*) FROM longshore_job WHERE kind NOT LIKE 'bench.%')
    + (SELECT count(*) FROM longshore_history WHERE kind NOT LIKE 'bench.%') AS jobs;

-- step: own
SELECT (SELECT count(*) FROM longshore_job WHERE kind LIKE 'bench.%') AS waiting,
    (SELECT count(*) FROM longshore_history WHERE kind LIKE 'bench.%') AS ended;

-- step: clear
DELETE FROM longshore_payload
WHERE id IN (SELECT id FROM longshore_job WHERE kind LIKE 'bench.%' AND payload IS NULL)
    OR id IN (SELECT id FROM longshore_history WHERE kind LIKE 'bench.%' AND payload IS NULL);
DELETE FROM longshore_job WHERE kind LIKE 'bench.%';
DELETE FROM longshore_history WHERE kind LIKE 'bench.%';
DELETE FROM longshore_unique_key WHERE scope LIKE 'kind:bench.%';

-- step: rows
SELECT count(*) FROM longshore_history;
