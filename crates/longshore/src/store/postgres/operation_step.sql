-- Only here: a step of operation.sql on SQLite.
-- How far a step came, in the transaction that has locked the operation. A state that is an end ends it.
-- $1 id · $2 state · $3 place · $4 jobs changed · $5 jobs skipped · $6 reasons, JSON · $7 error or null · $8 node
-- $9 term · $10 now, of a test's clock
update longshore.operation
set state = $2::text, place = coalesce($3::uuid, place), done = done + $4::bigint, skipped = skipped + $5::bigint,
    reasons = $6::text, error = $7::text, node = $8::uuid, term = $9::bigint,
    updated_at = coalesce($10::timestamptz, now()),
    ended_at = case when $2::text = 'running' then null else coalesce($10::timestamptz, now()) end
where id = $1::uuid
returning id, action, arguments, query, asked_by, why, state, total, at_least, done, skipped, reasons, error, node,
    term, created_at, updated_at, ended_at, last_id, place
