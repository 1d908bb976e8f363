-- Twin of postgres/probe.sql. Differs: a step for each index; the one of queues knows only what can be claimed,
-- so what else a queue has comes from the others. Ids are hex, one after the other, perhaps some twice.
-- $1 at most so many

-- step: dead
SELECT group_concat(hex(d.id), '') AS ids
FROM (SELECT id FROM longshore_job WHERE dead_at IS NOT NULL LIMIT +$1) AS d;

-- step: running
-- $2 nodes or NULL
SELECT group_concat(hex(d.id), '') AS ids
FROM (
    SELECT id FROM longshore_job
    WHERE node IS NOT NULL AND ($2 IS NULL OR node IN (SELECT unhex(value) FROM json_each($2)))
    LIMIT +$1) AS d;

-- step: keys
-- What stands behind char(31) in a stored key is its window. $2 keys
SELECT group_concat(hex(d.id), '') AS ids
FROM (
    SELECT j.id FROM json_each($2) AS k CROSS JOIN longshore_job AS j
    WHERE j.unique_key >= k.value AND j.unique_key < k.value || ' '
    LIMIT +$1) AS d;

-- step: queues
-- $2 queues
SELECT group_concat(hex(d.id), '') AS ids
FROM (
    SELECT c.id FROM (
        SELECT j.id FROM json_each($2) AS q
            CROSS JOIN longshore_job AS j INDEXED BY longshore_job_claim ON j.queue = q.value
        WHERE j.node IS NULL AND j.dead_at IS NULL AND j.cancel_at IS NULL AND j.blocked_on = 0
            AND j.part_key IS NULL
        LIMIT +$1) AS c
    UNION ALL
    SELECT p.id FROM (
        SELECT j.id FROM json_each($2) AS q
            CROSS JOIN longshore_job AS j INDEXED BY longshore_job_part ON j.queue = q.value
        WHERE j.part_key IS NOT NULL
        LIMIT +$1) AS p
    UNION ALL
    SELECT a.id FROM (SELECT id FROM longshore_job WHERE cancel_at IS NOT NULL LIMIT +$1) AS a) AS d;
