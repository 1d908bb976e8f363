-- Only here: a step of retention.sql on SQLite.
-- Adds a rule, or gives the one with the same scope another span. No row if there are too many others.
-- $1 state or null · $2 queue or null · $3 kind or null · $4 keep_ms, null for ever · $5 most others
insert into longshore.retention (state, queue, kind, keep_ms)
select $1::text, $2::text, $3::text, $4::bigint
where (select count(*) from longshore.retention r
    where (r.state, r.queue, r.kind) is distinct from ($1::text, $2::text, $3::text)) <= $5::bigint
on conflict (coalesce(state, ''), coalesce(queue, ''), coalesce(kind, ''))
do update set keep_ms = excluded.keep_ms
returning id
