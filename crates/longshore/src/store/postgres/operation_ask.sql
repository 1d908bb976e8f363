-- Only here: a step of operation.sql on SQLite.
-- What was asked of an operation that this transaction has locked. $1 id · $2 state · $3 now, of a test's clock
update longshore.operation
set state = $2::text, updated_at = coalesce($3::timestamptz, now()),
    ended_at = case when $2::text in ('running', 'paused') then null else coalesce($3::timestamptz, now()) end
where id = $1::uuid
returning id, action, arguments, query, asked_by, why, state, total, at_least, done, skipped, reasons, error, node,
    term, created_at, updated_at, ended_at, last_id, place
