-- Only here: one file for what retention_*.sql do on PostgreSQL. The rules of retention.

-- step: list
-- The most particular first.
SELECT state, queue, kind, keep_ms FROM longshore_retention
ORDER BY kind IS NULL, queue IS NULL, state IS NULL, kind, queue, state;

-- step: others
-- How many rules have another scope. $1 state or NULL · $2 queue or NULL · $3 kind or NULL
SELECT count(*) FROM longshore_retention
WHERE NOT (state IS $1 AND queue IS $2 AND kind IS $3);

-- step: set
-- $1 state or NULL · $2 queue or NULL · $3 kind or NULL · $4 keep_ms, NULL for ever
INSERT INTO longshore_retention (state, queue, kind, keep_ms) VALUES ($1, $2, $3, $4)
ON CONFLICT (coalesce(state, ''), coalesce(queue, ''), coalesce(kind, ''))
DO UPDATE SET keep_ms = excluded.keep_ms;

-- step: remove
-- $1 state or NULL · $2 queue or NULL · $3 kind or NULL
DELETE FROM longshore_retention WHERE state IS $1 AND queue IS $2 AND kind IS $3;
