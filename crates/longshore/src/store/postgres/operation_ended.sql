-- Only here: a step of operation.sql on SQLite.
-- The same for those that have. $1 ids · $2, $3 when the first and the last of them ended
select h.id, h.state, h.finished_at, 'kind:' || h.kind as scope, h.unique_key as key
from longshore.history h
where h.id = any($1::uuid[]) and h.finished_at between $2::timestamptz and $3::timestamptz
order by h.id
for update
