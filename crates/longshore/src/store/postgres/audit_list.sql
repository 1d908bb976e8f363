-- Only here: a step of audit.sql on SQLite.
-- Entries, newest first. $1 older than this id · $2 most
select id, at, actor, actor_kind, actor_id, address, action, target, request_id, status, count, why, detail
from longshore.audit
where id < $1::uuid
order by id desc
limit $2::bigint
