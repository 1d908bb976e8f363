-- Twin of sqlite/progress.sql.
-- $1 id
select p.attempt, p.fraction, p.said, p.at from longshore.progress p where p.id = $1::uuid
