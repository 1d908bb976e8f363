-- Changes a job while it waits. Answers what it was and whether it was changed, no row if it is not in job.
-- $1 id · $2 version it must have, or null · what is null stays: $3 run_at · $4 delay, µs · $5 priority
-- $6 queue · $7 payload · $8 tags, a JSON array · $9 whether it may be blocked · $10 now, of a test's clock
-- $11 version of the payload · $12 its redacted fields, a JSON array
with clock as materialized (
    select coalesce($10::timestamptz, now()) as now),
found as materialized (
    select j.id, j.node is not null as running, j.dead_at is not null as dead, j.blocked_on > 0 as blocked,
        j.run_at, j.attempt, j.version
    from longshore.job j
    where j.id = $1::uuid
    for update),
changed as (
    update longshore.job j
    set run_at = case
            when $3::timestamptz is not null then $3::timestamptz
            when $4::bigint is not null then least(c.now + $4::bigint * interval '1 microsecond',
                timestamptz '9999-12-31 23:59:59.999999+00')
            else j.run_at
        end,
        priority = coalesce($5::smallint, j.priority),
        queue = coalesce($6::text, j.queue),
        payload = case
            when $7::text is null then j.payload
            when octet_length($7::text) <= 2000 then $7::text::json
        end,
        tags = case
            when $8::text is null then j.tags
            else nullif(array(
                select t.tag from json_array_elements_text($8::text::json) with ordinality t (tag, n) order by t.n),
                '{}')
        end,
        payload_version = coalesce($11::int, j.payload_version),
        redacted = case
            when $12::text is null then j.redacted
            else nullif(array(
                select t.field from json_array_elements_text($12::text::json) with ordinality t (field, n)
                order by t.n), '{}')
        end,
        version = j.version + 1
    from found f, clock c
    where j.id = f.id and not f.running and not f.dead and ($9::boolean or not f.blocked)
      and ($2::bigint is null or f.version = $2::bigint)
    returning j.id, j.version),
aside as (
    insert into longshore.payload (id, payload)
    select h.id, $7::text::json from changed h where octet_length($7::text) > 2000
    on conflict (id) do update set payload = excluded.payload),
inlined as (
    delete from longshore.payload p using changed h where p.id = h.id and octet_length($7::text) <= 2000)
select f.dead, f.running, f.blocked, f.run_at, f.attempt, c.now, f.version, h.version as version_after
from clock c, found f left join changed h on h.id = f.id
