-- Twin of postgres/claim.sql. Differs: no SKIP LOCKED, since SQLite has one writer at a time; one
-- queue a statement, all inside one BEGIN IMMEDIATE; ten lanes written out, since SQLite has no
-- LATERAL. The compound LIMIT stops before a lane that is not needed.

-- step: live
-- Whether the node lives, what is paused: a JSON array of [scope, name, mark, until], and when the next job falls due,
-- whatever it is. $1 node · $2 now · $3 queues, a JSON array
SELECT count(*) AS live, (
    SELECT json_group_array(json_array(scope, name, mark, until)) FROM longshore_pause
    WHERE until IS NULL OR until > $2) AS paused, (
    SELECT min((
        SELECT run_at FROM longshore_job
        WHERE queue = q.value AND priority = lane.value AND run_at > $2
            AND node IS NULL AND dead_at IS NULL AND cancel_at IS NULL AND blocked_on = 0 AND part_key IS NULL
        ORDER BY run_at, id LIMIT 1))
    FROM json_each($3) AS q, json_each('[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]') AS lane) AS next_due
FROM longshore_node WHERE id = $1 AND lost_at IS NULL;

-- step: take
-- Whoever knows a kind knows version 1 of it, and nearly all are that: only others look theirs up.
-- $1 node · $2 claim number · $3 now · $4 queue · $5 kinds, a JSON array of [kind,
-- greatest version of a payload that the node decodes] · $6 limit
-- $7, $8 … $25, $26 the marks, run_at and id of each lane
-- One array for each job: every value that comes back costs the driver's thread a copy of its own.
UPDATE longshore_job
SET node = $1, lease = $2, attempt = attempt + 1, leased_at = $3
WHERE seq IN (
    SELECT seq FROM (
        SELECT seq FROM (
            SELECT seq FROM longshore_job
            WHERE queue = $4 AND priority = 0 AND (run_at, id) > ($7, $8) AND run_at <= $3
                AND node IS NULL AND dead_at IS NULL AND cancel_at IS NULL AND blocked_on = 0
                AND part_key IS NULL AND kind IN (SELECT value ->> 0 FROM json_each($5))
                AND (payload_version = 1 OR payload_version <= (
                    SELECT k.value ->> 1 FROM json_each($5) AS k WHERE k.value ->> 0 = kind))
            ORDER BY run_at, id LIMIT +$6)
        UNION ALL
        SELECT seq FROM (
            SELECT seq FROM longshore_job
            WHERE queue = $4 AND priority = 1 AND (run_at, id) > ($9, $10) AND run_at <= $3
                AND node IS NULL AND dead_at IS NULL AND cancel_at IS NULL AND blocked_on = 0
                AND part_key IS NULL AND kind IN (SELECT value ->> 0 FROM json_each($5))
                AND (payload_version = 1 OR payload_version <= (
                    SELECT k.value ->> 1 FROM json_each($5) AS k WHERE k.value ->> 0 = kind))
            ORDER BY run_at, id LIMIT +$6)
        UNION ALL
        SELECT seq FROM (
            SELECT seq FROM longshore_job
            WHERE queue = $4 AND priority = 2 AND (run_at, id) > ($11, $12) AND run_at <= $3
                AND node IS NULL AND dead_at IS NULL AND cancel_at IS NULL AND blocked_on = 0
                AND part_key IS NULL AND kind IN (SELECT value ->> 0 FROM json_each($5))
                AND (payload_version = 1 OR payload_version <= (
                    SELECT k.value ->> 1 FROM json_each($5) AS k WHERE k.value ->> 0 = kind))
            ORDER BY run_at, id LIMIT +$6)
        UNION ALL
        SELECT seq FROM (
            SELECT seq FROM longshore_job
            WHERE queue = $4 AND priority = 3 AND (run_at, id) > ($13, $14) AND run_at <= $3
                AND node IS NULL AND dead_at IS NULL AND cancel_at IS NULL AND blocked_on = 0
                AND part_key IS NULL AND kind IN (SELECT value ->> 0 FROM json_each($5))
                AND (payload_version = 1 OR payload_version <= (
                    SELECT k.value ->> 1 FROM json_each($5) AS k WHERE k.value ->> 0 = kind))
            ORDER BY run_at, id LIMIT +$6)
        UNION ALL
        SELECT seq FROM (
            SELECT seq FROM longshore_job
            WHERE queue = $4 AND priority = 4 AND (run_at, id) > ($15, $16) AND run_at <= $3
                AND node IS NULL AND dead_at IS NULL AND cancel_at IS NULL AND blocked_on = 0
                AND part_key IS NULL AND kind IN (SELECT value ->> 0 FROM json_each($5))
                AND (payload_version = 1 OR payload_version <= (
                    SELECT k.value ->> 1 FROM json_each($5) AS k WHERE k.value ->> 0 = kind))
            ORDER BY run_at, id LIMIT +$6)
        UNION ALL
        SELECT seq FROM (
            SELECT seq FROM longshore_job
            WHERE queue = $4 AND priority = 5 AND (run_at, id) > ($17, $18) AND run_at <= $3
                AND node IS NULL AND dead_at IS NULL AND cancel_at IS NULL AND blocked_on = 0
                AND part_key IS NULL AND kind IN (SELECT value ->> 0 FROM json_each($5))
                AND (payload_version = 1 OR payload_version <= (
                    SELECT k.value ->> 1 FROM json_each($5) AS k WHERE k.value ->> 0 = kind))
            ORDER BY run_at, id LIMIT +$6)
        UNION ALL
        SELECT seq FROM (
            SELECT seq FROM longshore_job
            WHERE queue = $4 AND priority = 6 AND (run_at, id) > ($19, $20) AND run_at <= $3
                AND node IS NULL AND dead_at IS NULL AND cancel_at IS NULL AND blocked_on = 0
                AND part_key IS NULL AND kind IN (SELECT value ->> 0 FROM json_each($5))
                AND (payload_version = 1 OR payload_version <= (
                    SELECT k.value ->> 1 FROM json_each($5) AS k WHERE k.value ->> 0 = kind))
            ORDER BY run_at, id LIMIT +$6)
        UNION ALL
        SELECT seq FROM (
            SELECT seq FROM longshore_job
            WHERE queue = $4 AND priority = 7 AND (run_at, id) > ($21, $22) AND run_at <= $3
                AND node IS NULL AND dead_at IS NULL AND cancel_at IS NULL AND blocked_on = 0
                AND part_key IS NULL AND kind IN (SELECT value ->> 0 FROM json_each($5))
                AND (payload_version = 1 OR payload_version <= (
                    SELECT k.value ->> 1 FROM json_each($5) AS k WHERE k.value ->> 0 = kind))
            ORDER BY run_at, id LIMIT +$6)
        UNION ALL
        SELECT seq FROM (
            SELECT seq FROM longshore_job
            WHERE queue = $4 AND priority = 8 AND (run_at, id) > ($23, $24) AND run_at <= $3
                AND node IS NULL AND dead_at IS NULL AND cancel_at IS NULL AND blocked_on = 0
                AND part_key IS NULL AND kind IN (SELECT value ->> 0 FROM json_each($5))
                AND (payload_version = 1 OR payload_version <= (
                    SELECT k.value ->> 1 FROM json_each($5) AS k WHERE k.value ->> 0 = kind))
            ORDER BY run_at, id LIMIT +$6)
        UNION ALL
        SELECT seq FROM (
            SELECT seq FROM longshore_job
            WHERE queue = $4 AND priority = 9 AND (run_at, id) > ($25, $26) AND run_at <= $3
                AND node IS NULL AND dead_at IS NULL AND cancel_at IS NULL AND blocked_on = 0
                AND part_key IS NULL AND kind IN (SELECT value ->> 0 FROM json_each($5))
                AND (payload_version = 1 OR payload_version <= (
                    SELECT k.value ->> 1 FROM json_each($5) AS k WHERE k.value ->> 0 = kind))
            ORDER BY run_at, id LIMIT +$6)
        LIMIT +$6))
RETURNING json_array(hex(id), kind, priority, run_at, attempt, max_attempts, backoff, timeout_ms, meta,
    -- Without the cast, RETURNING forgets the column's type and walks the whole payload table.
    coalesce(payload, (SELECT p.payload FROM longshore_payload AS p
        WHERE p.id = CAST(longshore_job.id AS BLOB))), payload_version, redacted) AS job;
