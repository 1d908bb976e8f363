-- Only here: a step of session.sql on SQLite.
-- No row if the user is gone, kept out, or has another password by now; a repeat changes nothing. What has
-- ended of this user goes with it, and the oldest beyond the most there may be.
-- $1 id · $2 hash · $3 user · $4 password's hash · $5 now, of a test's clock · $6 expires_at · $7 address or null
-- $8 how long a session may lie idle, in µs · $9 the newest that may stay
with signed as (
    update longshore.user u set signed_in_at = coalesce($5::timestamptz, now())
    where u.name = $3::text and u.password = $4::text and u.disabled_at is null
    returning u.name, u.version, u.signed_in_at as now
), tidied as (
    delete from longshore.session s using signed
    where s.user_name = signed.name and s.id <> $1::uuid and (s.expires_at <= signed.now
        or s.seen_at <= signed.now - $8::bigint * interval '1 microsecond'
        or s.id not in (
            select n.id from longshore.session n where n.user_name = $3::text
            order by n.id desc limit $9::bigint))
)
insert into longshore.session (id, hash, user_name, user_version, created_at, seen_at, expires_at, address)
select $1::uuid, $2::bytea, name, version, now, now, $6::timestamptz, $7::text from signed
on conflict (id) do update set address = excluded.address
returning expires_at
