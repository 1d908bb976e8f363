-- Only here: SQLite has one writer, so no claim is still under way.
-- The first statement of a recall: waits until no claim of this node is under way, and makes sure
-- that a later start of this one fails: its own note would come second under this number. Such an
-- empty note stays until the node goes.
-- $1 node · $2 claim number
with me as materialized (
    select id from longshore.node where id = $1::uuid for update)
insert into longshore.claim (node, no, ids)
select $1::uuid, $2::bigint, '{}'
from (select count(*) from me) waited
on conflict (node, no) do nothing
