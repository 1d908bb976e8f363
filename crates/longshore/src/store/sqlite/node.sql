-- Only here: one file for the life of a node, which has a file a call on PostgreSQL.

-- step: join
-- $1 id · $2 name · $3 version · $4 queues, JSON · $5 kinds, JSON · $6 now · $7 expires_at
-- $8 host · $9 wish · $10 what a remote one says beside that, JSON, or NULL
INSERT INTO longshore_node
    (id, name, version, queues, kinds, started_at, expires_at, host, seen_at, wish, remote)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $6, $9, $10);

-- step: beat
-- $1 id · $2 expires_at · $3 now · $4 what the node is at
UPDATE longshore_node SET expires_at = $2, seen_at = $3, state = $4 WHERE id = $1 AND lost_at IS NULL
RETURNING wish, EXISTS (
    SELECT 1 FROM longshore_node AS n
    WHERE n.lost_at IS NULL AND n.expires_at <= $3 AND n.id <> $1) AS overdue;

-- step: wish
-- $1 id · $2 quiet, stop, or NULL: to serve · $3 now
UPDATE longshore_node SET wish = $2 WHERE id = $1 AND lost_at IS NULL AND expires_at > $3;

-- step: leave
-- $1 id
DELETE FROM longshore_node
WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM longshore_job WHERE node = $1);

-- step: expire
-- It still holds jobs: they are rescued at once. $1 id · $2 now
UPDATE longshore_node SET expires_at = min(expires_at, $2) WHERE id = $1 AND lost_at IS NULL;

-- step: list
-- $1 now
SELECT n.id, n.name, n.version, n.queues, n.kinds, n.started_at, n.expires_at, n.lost_at,
    n.lost_at IS NULL AND n.expires_at > $1 AS live, n.state, n.wish, n.remote IS NOT NULL AS remote,
    (SELECT count(*) FROM longshore_job AS j WHERE j.node = n.id) AS running
FROM longshore_node AS n
ORDER BY live DESC, n.started_at DESC, n.id DESC LIMIT 1000;

-- step: held
-- $1 node · $2 claim number
SELECT id, kind, queue, priority, run_at, attempt, max_attempts, backoff, timeout_ms, meta,
    coalesce(payload, (SELECT p.payload FROM longshore_payload AS p WHERE p.id = longshore_job.id))
        AS payload, lease, payload_version, redacted
FROM longshore_job WHERE node = $1 AND lease = $2;

-- step: remote
-- A node that works over a server and is not lost, as it joined. $1 node
SELECT queues, remote, wish FROM longshore_node
WHERE id = $1 AND lost_at IS NULL AND remote IS NOT NULL;

-- step: holds
-- What a node holds, but for some jobs, in the order they should start.
-- $1 node · $2 ids to leave out, a JSON array of hex · $3 most
SELECT id, kind, queue, priority, run_at, attempt, max_attempts, backoff, timeout_ms, meta,
    coalesce(payload, (SELECT p.payload FROM longshore_payload AS p WHERE p.id = longshore_job.id))
        AS payload, lease, payload_version, redacted
FROM longshore_job
WHERE node = $1 AND dead_at IS NULL AND id NOT IN (SELECT unhex(value) FROM json_each($2))
ORDER BY priority, run_at, id LIMIT +$3;

-- step: runs
-- What ends of runs need to know of them; those of these jobs that the node holds. finish.sql says why `+node`.
-- $1 node · $2 ids, a JSON array of hex · $3 now
SELECT id, lease, kind, queue, attempt, max_attempts, backoff, max(0, $3 - leased_at) AS ran
FROM longshore_job
WHERE id IN (SELECT unhex(value) FROM json_each($2)) AND +node = $1 AND dead_at IS NULL;
