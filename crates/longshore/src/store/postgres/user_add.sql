-- Only here: a step of user.sql on SQLite.
-- No row if the name is taken or there are too many; a repeat, which has the same hash, changes nothing.
-- $1 name · $2 password's hash · $3 role or null · $4 rights · $5 by · $6 now, of a test's clock · $7 most
insert into longshore.user as u (name, password, role, rights, created_by, created_at, changed_at)
select $1::text, $2::text, $3::text, $4::text[], $5::text, c.now, c.now
from (select coalesce($6::timestamptz, now()) as now) c
where (select count(*) from longshore.user o where o.name <> $1::text) < $7::bigint
on conflict (name) do update set password = excluded.password where u.password = excluded.password
returning created_at
