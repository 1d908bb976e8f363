-- Twin of postgres/release.sql: runs that end without going to history, one a statement here.

-- step: again
-- $1 id · $2 node · $3 lease · $4 attempts given back · $5 new run_at or NULL for the old one
-- $6 dead_at or NULL · $7 an error to append, JSON, or NULL · $8 throttles in a row now, NULL for as many as before
UPDATE longshore_job
SET node = NULL, lease = NULL, leased_at = NULL, attempt = max(attempt - $4, 0), dead_at = $6,
    run_at = CASE WHEN $6 IS NULL THEN coalesce($5, run_at) END, throttles = coalesce($8, throttles),
    errors = CASE
        WHEN $7 IS NULL THEN errors
        WHEN json_array_length(errors) >= 10
            THEN json_insert(json_remove(errors, '$[0]'), '$[#]', json($7))
        ELSE json_insert(coalesce(errors, '[]'), '$[#]', json($7)) END
WHERE id = $1 AND +node = $2 AND lease = $3 AND cancel_at IS NULL
RETURNING attempt;

-- step: note
-- The same error, for a job that ends cancelled. $1 id · $2 node · $3 lease · $4 the error, JSON
UPDATE longshore_job
SET errors = json_insert(
    CASE WHEN json_array_length(errors) >= 10 THEN json_remove(errors, '$[0]')
        ELSE coalesce(errors, '[]') END,
    '$[#]', json($4))
WHERE id = $1 AND +node = $2 AND lease = $3;

-- step: ask_cancel
-- The handler's own wish, noted as if it had been asked for. $1 id · $2 node · $3 lease · $4 now · $5 why
UPDATE longshore_job SET cancel_at = $4, cancel_by = 'handler', cancel_why = $5
WHERE id = $1 AND +node = $2 AND lease = $3 AND cancel_at IS NULL;

-- step: holds
-- Does the node hold it, and what an ending has to know. $1 id · $2 node · $3 lease
SELECT attempt, max_attempts, throttles, superseded_by, cancel_at IS NOT NULL AS cancelled FROM longshore_job WHERE id = $1 AND +node = $2 AND lease = $3;
