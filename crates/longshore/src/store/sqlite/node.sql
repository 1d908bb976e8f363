-- Only here: one file for the life of a node, which has a file a call on PostgreSQL.

-- step: join
-- $1 id · $2 name · $3 version · $4 queues, JSON · $5 kinds, JSON · $6 now · $7 expires_at
-- $8 host · $9 wish
INSERT INTO longshore_node (id, name, version, queues, kinds, started_at, expires_at, host, seen_at, wish)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $6, $9);

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
    n.lost_at IS NULL AND n.expires_at > $1 AS live, n.state, n.wish,
    (SELECT count(*) FROM longshore_job AS j WHERE j.node = n.id) AS running
FROM longshore_node AS n
ORDER BY live DESC, n.started_at DESC, n.id DESC LIMIT 1000;

-- step: held
-- $1 node · $2 claim number
SELECT id, kind, queue, priority, run_at, attempt, max_attempts, backoff, timeout_ms, meta,
    coalesce(payload, (SELECT p.payload FROM longshore_payload AS p WHERE p.id = longshore_job.id))
        AS payload, lease, payload_version, redacted
FROM longshore_job WHERE node = $1 AND lease = $2;
