-- Only here: a step of audit.sql on SQLite.
-- A repeat changes nothing.
-- $1 id · $2 now, of a test's clock · $3 actor · $4 its kind · $5 its id or null
-- $6 address or null · $7 action · $8 target or null · $9 request or null
insert into longshore.audit (id, at, actor, actor_kind, actor_id, address, action, target, request_id)
values ($1::uuid, coalesce($2::timestamptz, now()), $3::text, $4::text, $5::text, $6::text, $7::text, $8::text,
    $9::text)
on conflict (id) do nothing
