-- Twin of postgres/say.sql. Differs: steps inside one BEGIN IMMEDIATE, one run at a time.
-- Also the removal of what jobs said, which is part of other statements on PostgreSQL.

-- step: holds
-- $1 id · $2 node · $3 lease
SELECT attempt FROM longshore_job WHERE id = $1 AND +node = $2 AND lease = $3 AND dead_at IS NULL;

-- step: progress
-- $1 id · $2 attempt · $3 fraction · $4 text · $5 now
INSERT INTO longshore_progress (id, attempt, fraction, said, at) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (id) DO UPDATE
SET attempt = excluded.attempt, fraction = excluded.fraction, said = excluded.said, at = excluded.at;

-- step: last
-- $1 id · $2 attempt
SELECT first, count, total, run, nth FROM longshore_log
WHERE id = $1 AND attempt = $2 ORDER BY first DESC LIMIT 1;

-- step: add
-- $1 id · $2 attempt · $3 first · $4 how many · $5 bytes · $6 bytes of the attempt · $7 the run's mark
-- $8 its own number of the first line · $9 lines, JSON
INSERT INTO longshore_log (id, attempt, first, count, bytes, total, run, nth, lines)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9);

-- step: trim
-- Of an attempt the newest 1,000 lines are kept, in 256 KiB; of a job the newest ten attempts.
-- $1 id · $2 attempt · $3 its last line · $4 bytes of the attempt
DELETE FROM longshore_log
WHERE id = $1 AND (attempt <= $2 - 10
    OR attempt = $2 AND (first <= $3 - 1000 OR total - bytes < $4 - 262144));

-- step: drop_progress
-- $1 id
DELETE FROM longshore_progress WHERE id = $1;

-- step: drop_log
-- $1 id
DELETE FROM longshore_log WHERE id = $1;
