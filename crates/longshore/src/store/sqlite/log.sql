-- Twin of postgres/log.sql.
-- Lines of a job, as they lie together, after a place.
-- $1 id · $2 attempt, or NULL for all · $3 after this attempt · $4 and this line of it · $5 most rows
SELECT attempt, first, count, lines
FROM longshore_log
WHERE id = $1 AND attempt >= coalesce($2, $3) AND ($2 IS NULL OR attempt = $2)
    AND (attempt > $3 OR attempt = $3 AND first + count > $4 + 1)
ORDER BY attempt, first
LIMIT +$5;
