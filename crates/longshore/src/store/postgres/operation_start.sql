-- Only here: a step of operation.sql on SQLite.
-- Keeps an operation, unless there are too many; no row then, nor for a repeat. It means the jobs up to the
-- greatest id there is.
-- $1 id · $2 action · $3 arguments · $4 query · $5 who · $6 why · $7 total · $8 whether there may be more
-- $9 now, of a test's clock · $10 most that have not ended
insert into longshore.operation (id, action, arguments, query, asked_by, why, state, total, at_least, created_at,
    updated_at, last_id)
select $1::uuid, $2::text, $3::text, $4::text, $5::text, $6::text, 'running', $7::bigint, $8::boolean,
    coalesce($9::timestamptz, now()), coalesce($9::timestamptz, now()),
    coalesce(greatest(
        (select j.id from longshore.job j order by j.id desc limit 1),
        (select h.id from longshore.history h order by h.id desc limit 1)),
        '00000000-0000-0000-0000-000000000000')
where (select count(*) from longshore.operation o where o.ended_at is null) < $10::bigint
on conflict (id) do nothing
returning id, action, arguments, query, asked_by, why, state, total, at_least, done, skipped, reasons, error, node,
    term, created_at, updated_at, ended_at, last_id, place
