-- Only here: one file for what lead.sql, leads.sql and resign.sql do on PostgreSQL. One row;
-- taken, renewed and given up by compare-and-set.

-- step: lead
-- A leader that renews in time keeps its term; every other way in raises it. $1 node · $2 now · $3 expires_at
INSERT INTO longshore_leader (one, term, node, expires_at) VALUES (1, 1, $1, $3)
ON CONFLICT (one) DO UPDATE
SET term = CASE WHEN node = $1 AND expires_at > $2 THEN term ELSE term + 1 END,
    node = $1, expires_at = $3
WHERE node = $1 OR expires_at <= $2
RETURNING term;

-- step: resign
-- $1 node · $2 term
UPDATE longshore_leader SET expires_at = 0 WHERE node = $1 AND term = $2;

-- step: leads
-- $1 node · $2 term · $3 now
SELECT count(*) AS leads FROM longshore_leader WHERE node = $1 AND term = $2 AND expires_at > $3;
