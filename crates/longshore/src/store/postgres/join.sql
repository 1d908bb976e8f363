-- Only here: a step of node.sql on SQLite.
-- Adds a node, or, as a repeat, renews it while it is not lost.
-- $1 id · $2 name · $3 version · $4 queues, JSON · $5 kinds · $6 lease, µs · $7 now, of a test's clock · $8 wish
-- $9 what a remote one says beside that, JSON, or null
insert into longshore.node as n (id, name, version, queues, kinds, started_at, expires_at, wish, remote)
select $1::uuid, $2::text, $3::text, $4::text::json, $5::text[], c.now, c.now + $6::bigint * interval '1 microsecond',
    $8::text, $9::text::json
from (select coalesce($7::timestamptz, now()) as now) c
on conflict (id) do update set expires_at = excluded.expires_at where n.lost_at is null
