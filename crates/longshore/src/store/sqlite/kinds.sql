-- Only here: one file for kinds_keep.sql and kinds_list.sql of PostgreSQL.

-- step: forget
-- Those that nobody has told of since $1, and that no node runs which is live at $2.
DELETE FROM longshore_kind
WHERE seen_at < $1 AND NOT EXISTS (
    SELECT 1 FROM longshore_node AS n, json_each(n.kinds) AS k
    WHERE n.lost_at IS NULL AND n.expires_at > $2 AND k.value = longshore_kind.name);

-- step: keep
-- Of two versions the greater has the say. $1 name · $2 version or NULL · $3 schema or NULL · $4 now
INSERT INTO longshore_kind (name, version, schema, seen_at) VALUES ($1, $2, $3, $4)
ON CONFLICT (name) DO UPDATE
SET version = CASE WHEN coalesce(excluded.version, 0) >= coalesce(version, 0) THEN excluded.version ELSE version END,
    schema = CASE WHEN coalesce(excluded.version, 0) >= coalesce(version, 0) THEN excluded.schema ELSE schema END,
    seen_at = excluded.seen_at;

-- step: list
-- $1 most
SELECT name, version, schema, seen_at FROM longshore_kind ORDER BY name LIMIT +$1;
