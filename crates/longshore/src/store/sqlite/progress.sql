-- Twin of postgres/progress.sql.
-- $1 id
SELECT attempt, fraction, said, at FROM longshore_progress WHERE id = $1;
