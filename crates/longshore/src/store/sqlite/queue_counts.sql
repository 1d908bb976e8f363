-- Twin of postgres/queue_counts.sql. Differs: the steps of queue_count.sql are here too, since counting is
-- several statements: the names, each queue by itself, and what is kept of them.

-- step: filled
-- One look at the claim index for each queue, however many jobs it has. $1 most
WITH RECURSIVE filled (queue) AS (
    SELECT min(queue) FROM longshore_job
    WHERE node IS NULL AND dead_at IS NULL AND cancel_at IS NULL AND blocked_on = 0 AND part_key IS NULL
    UNION ALL
    SELECT (
        SELECT min(j.queue) FROM longshore_job AS j
        WHERE j.queue > filled.queue AND j.node IS NULL AND j.dead_at IS NULL AND j.cancel_at IS NULL AND j.blocked_on = 0 AND j.part_key IS NULL)
    FROM filled WHERE queue IS NOT NULL)
SELECT queue FROM filled WHERE queue IS NOT NULL LIMIT +$1;

-- step: served
-- $1 now
SELECT DISTINCT q.value ->> 0 AS queue
FROM longshore_node AS n, json_each(n.queues) AS q
WHERE n.lost_at IS NULL AND n.expires_at > $1;

-- step: depth
-- $1 queue · $2 now · $3 deepest count, and one more
SELECT
    (SELECT count(*) FROM (
        SELECT 1 FROM longshore_job
        WHERE queue = $1 AND priority IN (0, 1, 2, 3, 4, 5, 6, 7, 8, 9) AND run_at <= $2
            AND node IS NULL AND dead_at IS NULL AND cancel_at IS NULL AND blocked_on = 0 AND part_key IS NULL
        LIMIT +$3)) AS depth,
    (SELECT min(first.run_at) FROM (
        SELECT (
            SELECT run_at FROM longshore_job
            WHERE queue = $1 AND priority = lane.value AND run_at <= $2
                AND node IS NULL AND dead_at IS NULL AND cancel_at IS NULL AND blocked_on = 0 AND part_key IS NULL
            ORDER BY run_at, id LIMIT 1) AS run_at
        FROM json_each('[0,1,2,3,4,5,6,7,8,9]') AS lane) AS first) AS oldest_at;

-- step: running
-- How many jobs run, by queue. $1 most
SELECT queue, count(*) AS running FROM longshore_job
WHERE node IS NOT NULL AND dead_at IS NULL
GROUP BY queue ORDER BY queue LIMIT +$1;

-- step: forget
DELETE FROM longshore_queue_stats;

-- step: keep
-- $1 queue · $2 depth · $3 capped · $4 oldest_at · $5 now
INSERT INTO longshore_queue_stats (queue, depth, capped, oldest_at, counted_at)
VALUES ($1, $2, $3, $4, $5);

-- step: list
-- Counts that are older than $2 are nobody's any more. $1 most · $2 a point in time
SELECT queue, depth, capped, oldest_at, counted_at FROM longshore_queue_stats
WHERE counted_at > $2
ORDER BY queue LIMIT +$1;
