-- Only here: on SQLite nobody writes between the steps of an enqueue.
-- The third statement of an enqueue that may be a repeat: a prune may have taken the payload row that the
-- first one found and left alone, together with the job's row in history. $1 ids · $2 payloads
insert into longshore.payload (id, payload)
select i.id, i.payload::json
from unnest($1::uuid[], $2::text[]) i (id, payload)
order by i.id
on conflict (id) do nothing
