-- Only here: one file for what rescue_*.sql, give_away.sql, mark_lost.sql, sweep.sql and forget_nodes.sql
-- do on PostgreSQL. SQLite has one writer, so one transaction sees it all; rows
-- whose node row is gone are found through the node index.

-- step: lost
-- Nodes whose lease ran out, and ids that running jobs name though no such node exists. $1 now
SELECT id FROM (
    SELECT id FROM longshore_node WHERE lost_at IS NULL AND expires_at <= $1
    UNION
    SELECT DISTINCT node FROM longshore_job
    WHERE node IS NOT NULL
        AND node NOT IN (SELECT id FROM longshore_node WHERE lost_at IS NULL))
ORDER BY id LIMIT 10;

-- step: stray
-- Only those ids that running jobs name though no such node lives.
SELECT DISTINCT node FROM longshore_job
WHERE node IS NOT NULL AND node NOT IN (SELECT id FROM longshore_node WHERE lost_at IS NULL)
ORDER BY node LIMIT 10;

-- step: note
-- What happened to all that a node held. The lease goes first: history must not answer a late finish of
-- the lost node as recorded. $1 node · $2 now as RFC 3339 · $3 node as text
UPDATE longshore_job
SET lease = NULL,
    errors = json_insert(
        CASE WHEN json_array_length(errors) >= 10 THEN json_remove(errors, '$[0]')
            ELSE coalesce(errors, '[]') END,
        '$[#]', json_object('attempt', attempt, 'at', $2, 'node', $3,
            'kind', iif(superseded_by IS NULL, 'node_lost', 'superseded'),
            'message', 'the node that ran it was lost'
                || iif(superseded_by IS NULL, '', '; a newer job has its unique key'),
            'chain', json('[]')))
WHERE node = $1;

-- step: back
-- $1 node · $2 now
UPDATE longshore_job
SET node = NULL, leased_at = NULL,
    dead_at = CASE WHEN attempt >= max_attempts OR superseded_by IS NOT NULL THEN $2 END,
    run_at = CASE WHEN attempt < max_attempts AND superseded_by IS NULL THEN run_at END
WHERE node = $1 AND cancel_at IS NULL
RETURNING id, dead_at IS NOT NULL AS dead;

-- step: mark
-- $1 node · $2 now
UPDATE longshore_node SET lost_at = $2 WHERE id = $1 AND lost_at IS NULL;

-- step: forget
-- Nodes lost long ago that nothing names. $1 lost before
DELETE FROM longshore_node
WHERE lost_at < $1 AND id NOT IN (SELECT node FROM longshore_job WHERE node IS NOT NULL);
