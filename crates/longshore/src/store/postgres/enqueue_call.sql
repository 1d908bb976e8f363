-- Only here: longshore.enqueue for whatever driver the application has. The whole job is one parameter of
-- type text and the answer one column of type text, so no driver needs more types than that, and the
-- statement is always the same. SQLite has no such function.
-- Spans and times are numbers: seconds and what is left of them apart, since a number of this size times an
-- interval is exact only below 2^53. Payload and meta are texts in the JSON, so that their bytes stay.
-- $1 the job, as JSON
select longshore.enqueue(
    kind => j.kind,
    payload => j.payload::json,
    queue => j.queue,
    priority => j.priority,
    run_at => coalesce(
        clock_timestamp() + j.run_in_us * interval '1 us',
        timestamptz 'epoch' + j.run_at_us / 1000000 * interval '1 s' + j.run_at_us % 1000000 * interval '1 us'),
    unique_key => j.unique_key,
    max_attempts => j.max_attempts,
    tags => j.tags,
    meta => j.meta::json,
    unique_within => j.unique_within_ms * interval '1 ms',
    unique_for_good => j.unique_for_good,
    on_conflict => j.on_conflict,
    timeout => j.timeout_ms * interval '1 ms',
    retain => j.retain_ms * interval '1 ms',
    id => j.id,
    payload_version => j.payload_version,
    redacted => j.redacted)::text as id
from json_to_record($1::text::json) as j (
    kind text, payload text, queue text, priority int, run_in_us bigint, run_at_us bigint, unique_key text,
    max_attempts int, tags text[], meta text, unique_within_ms bigint, unique_for_good boolean, on_conflict text,
    timeout_ms bigint, retain_ms bigint, id uuid, payload_version int, redacted text[])
