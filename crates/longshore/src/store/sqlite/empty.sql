-- Only here: one file for the steps of empty.sql, which is one statement on PostgreSQL.

-- step: found
-- Some jobs of a queue that wait and came by a point in time. $1 queue · $2 came by · $3 most
SELECT json_group_array(seq) FROM (
    SELECT seq FROM longshore_job
    WHERE queue = $1 AND created_at <= $2
        AND node IS NULL AND dead_at IS NULL AND cancel_at IS NULL AND blocked_on = 0 AND part_key IS NULL
    LIMIT +$3);

-- step: free
-- The key of each, two plain values, or the planner walks all keys. $1 seqs, a JSON array
DELETE FROM longshore_unique_key WHERE (scope, key) IN (
    SELECT 'kind:' || j.kind, j.unique_key
    FROM json_each($1) AS s CROSS JOIN longshore_job AS j ON j.seq = s.value
        CROSS JOIN longshore_unique_key AS u
            ON u.scope = 'kind:' || j.kind AND u.key = j.unique_key AND u.job_id = j.id
    WHERE j.unique_key IS NOT NULL);

-- step: drop_payloads
-- $1 seqs, a JSON array
DELETE FROM longshore_payload WHERE id IN (
    SELECT id FROM longshore_job WHERE seq IN (SELECT value FROM json_each($1)) AND payload IS NULL);

-- step: drop_progress
-- $1 seqs, a JSON array
DELETE FROM longshore_progress WHERE id IN (
    SELECT id FROM longshore_job WHERE seq IN (SELECT value FROM json_each($1)));

-- step: drop_log
-- $1 seqs, a JSON array
DELETE FROM longshore_log WHERE id IN (
    SELECT id FROM longshore_job WHERE seq IN (SELECT value FROM json_each($1)));

-- step: drop
-- $1 seqs, a JSON array
DELETE FROM longshore_job WHERE seq IN (SELECT value FROM json_each($1));
