-- Only here: a step of operation.sql on SQLite.
-- Changes waiting jobs, which this transaction has locked; edit.sql for many.
-- $1 ids · what is null stays: $2 run_at · $3 priority · $4 queue
update longshore.job j
set run_at = coalesce($2::timestamptz, j.run_at), priority = coalesce($3::smallint, j.priority),
    queue = coalesce($4::text, j.queue), version = j.version + 1
where j.id = any($1::uuid[]) and j.node is null and j.dead_at is null
