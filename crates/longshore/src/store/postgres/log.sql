-- Twin of sqlite/log.sql.
-- Lines of a job, as they lie together, after a place.
-- $1 id · $2 attempt, or null for all · $3 after this attempt · $4 and this line of it · $5 most rows
select l.attempt, l.first, l.count, l.lines
from longshore.log l
where l.id = $1::uuid and l.attempt >= coalesce($2::int, $3::int) and ($2::int is null or l.attempt = $2::int)
  and (l.attempt > $3::int or l.attempt = $3::int and l.first + l.count > $4::bigint + 1)
order by l.attempt, l.first
limit $5::bigint
