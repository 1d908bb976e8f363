-- Only here: a step of operation.sql on SQLite.
-- $1 id
select id, action, arguments, query, asked_by, why, state, total, at_least, done, skipped, reasons, error, node,
    term, created_at, updated_at, ended_at, last_id, place
from longshore.operation where id = $1::uuid
