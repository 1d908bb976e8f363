-- Only here: on PostgreSQL any number of hosts may use one database.

-- step: others
-- Live nodes that name their host. $1 now
SELECT id, host, seen_at, expires_at FROM longshore_node
WHERE lost_at IS NULL AND expires_at > $1 AND host IS NOT NULL AND seen_at IS NOT NULL
ORDER BY seen_at DESC;

-- step: end
-- Only if it did not beat meanwhile. $1 node · $2 seen_at, as it was read · $3 now
UPDATE longshore_node SET expires_at = min(expires_at, $3) WHERE id = $1 AND seen_at = $2;
