-- Only here: a step of token.sql on SQLite.
-- No row if there are too many live tokens; a repeat changes nothing.
-- $1 id · $2 name · $3 hash · $4 prefix · $5 role or null · $6 rights · $7 by · $8 expires_at or null
-- $9 now, of a test's clock · $10 most live ones
insert into longshore.token (id, name, hash, prefix, role, rights, created_by, expires_at, created_at)
select $1::uuid, $2::text, $3::bytea, $4::text, $5::text, $6::text[], $7::text, $8::timestamptz,
    coalesce($9::timestamptz, now())
where (select count(*) from longshore.token t
    where t.id <> $1::uuid and t.revoked_at is null
        and (t.expires_at is null or t.expires_at > coalesce($9::timestamptz, now()))) < $10::bigint
on conflict (id) do update set name = excluded.name
returning created_at
