-- Only here: a step of kinds.sql on SQLite.
-- $1 most
select k.name, k.version, k.schema::text as schema, k.seen_at
from longshore.kind k
order by k.name
limit $1::bigint
