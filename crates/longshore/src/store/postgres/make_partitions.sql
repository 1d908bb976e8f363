-- Only here: history's partitions for today and some days after.
-- $1 days after · $2 now, of a test's clock
select longshore.make_history_day((coalesce($2::timestamptz, now()) at time zone 'UTC')::date + d.n)
from generate_series(0, $1::int) d (n)
