-- Only here: a step of node.sql on SQLite.
-- What a node holds under one claim number. Same columns as claim.sql, its header left out.
-- $1 node · $2 claim number
select j.id, j.kind, j.queue, j.priority, j.run_at, j.attempt, j.max_attempts,
    j.backoff::text as backoff, j.timeout_ms, j.meta::text as meta,
    case when j.payload is not null then j.payload::text
        else (select p.payload::text from longshore.payload p where p.id = j.id)
    end as payload, j.payload_version, j.redacted
from longshore.claim c
    cross join unnest(c.ids) i (id)
    join longshore.job j on j.id = i.id
where c.node = $1::uuid and c.no = $2::bigint
  and j.node = $1::uuid and j.lease = $2::bigint
