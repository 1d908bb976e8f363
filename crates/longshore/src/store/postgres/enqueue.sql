-- Adds jobs; what is there already stays as it is. Answers one row for each job added.
-- One array for each column, all of one length, each id only once:
-- $1 id · $2 kind · $3 queue · $4 priority · $5 run_at or null · $6 delay, µs · $7 max_attempts · $8 backoff
-- $9 timeout_ms · $10 retain_ms · $11 tags, a JSON array · $12 meta · $13 payload
-- $14 now, of a test's clock · $15 unique key, as it is stored and taken already, or null for none at all
-- $16 whether to tell other nodes from inside this transaction, a caller's: here, since a statement of its own
-- would cost it two round trips more
-- $17 version of the payload · $18 its redacted fields, a JSON array, or null
with clock as materialized (
    select coalesce($14::timestamptz, statement_timestamp()) as now),
input as materialized (
    select i.id, i.kind, i.queue, i.priority, i.max_attempts, i.backoff, i.timeout_ms, i.retain_ms,
        i.tags, i.meta, i.payload, i.unique_key, i.payload_version, i.redacted,
        octet_length(i.payload) > 2000 as aside,
        least(coalesce(i.run_at, c.now + i.delay * interval '1 microsecond'),
            timestamptz '9999-12-31 23:59:59.999999+00') as run_at,
        c.now
    from clock c,
        unnest($1::uuid[], $2::text[], $3::text[], $4::smallint[], $5::timestamptz[], $6::bigint[],
            $7::int[], $8::text[], $9::bigint[], $10::bigint[], $11::text[], $12::text[], $13::text[], $15::text[],
            $17::int[], $18::text[])
        i (id, kind, queue, priority, run_at, delay, max_attempts, backoff, timeout_ms, retain_ms,
            tags, meta, payload, unique_key, payload_version, redacted)),
added as (
    insert into longshore.job (id, kind, queue, priority, run_at, created_at, max_attempts, backoff,
        timeout_ms, retain_ms, tags, meta, payload, unique_key, payload_version, redacted)
    select i.id, i.kind, i.queue, i.priority, i.run_at, i.now, i.max_attempts, i.backoff::json,
        i.timeout_ms, i.retain_ms,
        case when i.tags is not null then
            array(select t.tag from json_array_elements_text(i.tags::json) with ordinality t (tag, n) order by t.n)
        end,
        i.meta::json, case when not i.aside then i.payload::json end, i.unique_key, i.payload_version,
        case when i.redacted is not null then
            array(select t.field from json_array_elements_text(i.redacted::json) with ordinality t (field, n)
                order by t.n)
        end
    from input i
    order by i.id
    on conflict (id) do nothing
    returning id, run_at),
aside as (
    insert into longshore.payload (id, payload)
    select i.id, i.payload::json
    from added a join input i on i.id = a.id
    where i.aside
    order by i.id
    -- A repeat of a job that ended may find its payload kept; see forget.sql.
    on conflict (id) do nothing)
-- Soon: the poll of other nodes would be too late.
select a.id, a.run_at <= c.now + interval '1 second' as soon,
    -- Below where other nodes' low-water marks may stand.
    a.run_at < c.now - interval '1 second' as early,
    case when $16::boolean then (
        select longshore.tell(
            case when bool_or(n.run_at < k.now - interval '1 second') then 'start' else 'look' end)::text
        from added n, clock k
        where n.run_at <= k.now + interval '1 second'
        having count(*) > 0)
    end as told
from added a, clock c
