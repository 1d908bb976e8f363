-- Only here: a step of audit.sql on SQLite.
-- $1 id · $2 status · $3 count or null · $4 why or null · $5 detail or null
update longshore.audit
set status = $2::int, count = $3::bigint, why = $4::text, detail = $5::text
where id = $1::uuid and status is null
