-- Only here: one file for what pause_*.sql do on PostgreSQL. A pause whose end has come is none.

-- step: forget
-- $1 now
DELETE FROM longshore_pause WHERE until <= $1;

-- step: others
-- $1 scope · $2 name
SELECT count(*) FROM longshore_pause WHERE NOT (scope = $1 AND name = $2);

-- step: set
-- $1 scope · $2 name · $3 who or NULL · $4 why or NULL · $5 now · $6 until or NULL · $7 mark
INSERT INTO longshore_pause (scope, name, paused_by, why, since, until, mark)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (scope, name) DO UPDATE
SET paused_by = excluded.paused_by, why = excluded.why, until = excluded.until, mark = excluded.mark
RETURNING since;

-- step: end
-- $1 scope · $2 name · $3 now
DELETE FROM longshore_pause WHERE scope = $1 AND name = $2
RETURNING until IS NULL OR until > $3 AS held;

-- step: list
-- $1 now
SELECT scope, name, paused_by, why, since, until FROM longshore_pause
WHERE until IS NULL OR until > $1
ORDER BY scope DESC, name;
