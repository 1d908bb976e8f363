-- Only here: a step of finish.sql on SQLite.
-- Runs that an earlier try of the same finish recorded. A repeat comes soon, so two days are enough.
-- $1 node · $2 ids · $3 lease of each · $4 now, of a test's clock
select h.id, h.lease, h.state = 'cancelled' as cancelled
from unnest($2::uuid[], $3::bigint[]) f (id, lease)
    join longshore.history h on h.id = f.id and h.lease = f.lease
where h.node = $1::uuid
  and h.finished_at >= coalesce($4::timestamptz, now()) - interval '2 days'
