-- Only here: a step of session.sql on SQLite.
-- Newest first. $1 now, of a test's clock · $2 how long a session may lie idle, in µs · $3 most
select s.id, s.user_name, u.role, u.rights, s.created_at, s.seen_at, s.expires_at, s.address,
    s.expires_at > c.now and s.seen_at > c.now - $2::bigint * interval '1 microsecond'
        and u.disabled_at is null and s.user_version = u.version as live
from (select coalesce($1::timestamptz, now()) as now) c
    cross join longshore.session s join longshore.user u on u.name = s.user_name
order by s.id desc
limit $3::bigint
