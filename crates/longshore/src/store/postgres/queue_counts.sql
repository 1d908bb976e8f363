-- Twin of sqlite/queue_counts.sql, its step list. Counts that are older than $2 are nobody's any more.
-- $1 most · $2 seconds · $3 now, of a test's clock
with clock as materialized (
    select coalesce($3::timestamptz, now()) as now)
select s.queue, s.depth, s.capped, s.oldest_at, s.counted_at, c.now
from longshore.queue_stats s, clock c
where s.counted_at > c.now - make_interval(secs => $2::float8)
order by s.queue
limit $1::bigint
