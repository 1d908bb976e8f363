-- Only here: PostgreSQL has a file for each of its unique_*.sql, for many jobs at once.

-- step: held
-- Who holds a key. $1 scope · $2 key, as stored
SELECT job_id, until, fingerprint FROM longshore_unique_key WHERE scope = $1 AND key = $2;

-- step: holder
-- Does the holder wait or run? $1 id
SELECT node IS NOT NULL AS running FROM longshore_job WHERE id = $1 AND dead_at IS NULL;

-- step: take
-- $1 scope · $2 key, as stored · $3 job · $4 until or NULL · $5 fingerprint or NULL
INSERT INTO longshore_unique_key (scope, key, job_id, until, fingerprint) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (scope, key) DO UPDATE
SET job_id = excluded.job_id, until = excluded.until, fingerprint = excluded.fingerprint;

-- step: supersede
-- A running holder, whose key another job has now. $1 id · $2 that job
UPDATE longshore_job SET superseded_by = $2 WHERE id = $1;

-- step: mine
-- The key of a job that is to run again. $1 id
SELECT 'kind:' || kind AS scope, unique_key AS key FROM longshore_job
WHERE id = $1 AND unique_key IS NOT NULL;

-- step: free
-- The key of a job that is deleted. Two plain values, or the planner walks all keys. $1 id
DELETE FROM longshore_unique_key
WHERE scope = (
        SELECT 'kind:' || kind FROM longshore_job WHERE id = $1
        UNION ALL SELECT 'kind:' || kind FROM longshore_history WHERE id = $1)
    AND key = (
        SELECT unique_key FROM longshore_job WHERE id = $1
        UNION ALL SELECT unique_key FROM longshore_history WHERE id = $1)
    AND job_id = $1;

-- step: forget
-- Keys whose window is over. $1 now · $2 most
DELETE FROM longshore_unique_key WHERE (scope, key) IN (
    SELECT scope, key FROM longshore_unique_key
    WHERE until < 9223372036854775807 AND until <= $1 ORDER BY until LIMIT +$2);
