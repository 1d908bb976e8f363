-- Only here: SQLite has one writer, so nothing comes between.
-- The first statement of leaving: waits until no claim is under way. $1 node
select id from longshore.node where id = $1::uuid for update
