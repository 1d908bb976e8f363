-- Only here: a step of enqueue.sql on SQLite.
-- Takes unique keys, and answers for each job who holds its key now. Keys are taken in their order, so
-- that two calls never wait for each other; a key of an open transaction is waited for, so that nobody
-- is called a duplicate of what rolls back. One array for each column, each key only once:
-- $1 job ids · $2 scopes · $3 keys, the callers' · $4 window, ms, or null · $5 for good · $6 run_at or null
-- $7 delay, µs · $8 fingerprints or null · $9 now, of a test's clock
with input as materialized (
    select i.id, i.scope, i.fingerprint, longshore.unique_text(i.key, i.span_ms, i.for_good,
        least(coalesce(i.run_at, coalesce($9::timestamptz, statement_timestamp()) + i.delay * interval '1 microsecond'),
            timestamptz '9999-12-31 23:59:59.999999+00')) as key
    from unnest($1::uuid[], $2::text[], $3::text[], $4::bigint[], $5::boolean[], $6::timestamptz[], $7::bigint[],
            $8::bytea[])
        i (id, scope, key, span_ms, for_good, run_at, delay, fingerprint)),
taken as (
    insert into longshore.unique_key as u (scope, key, job_id, until, fingerprint)
    select i.scope, i.key, i.id, longshore.unique_until(i.key, coalesce($9::timestamptz, statement_timestamp())), i.fingerprint
    from input i
    order by i.scope, i.key
    -- Always an update, to the same values unless the key has expired: only so the answer is the
    -- holder's committed row, and stays it until we are done.
    on conflict (scope, key) do update set
        job_id = case when u.until <= coalesce($9::timestamptz, statement_timestamp())
            then excluded.job_id else u.job_id end,
        fingerprint = case when u.until <= coalesce($9::timestamptz, statement_timestamp())
            then excluded.fingerprint else u.fingerprint end,
        until = case when u.until <= coalesce($9::timestamptz, statement_timestamp())
            then excluded.until else u.until end
    returning u.scope, u.key, u.job_id, u.until is null as while_active, u.fingerprint)
select i.id, t.key, t.job_id as holder, t.while_active, t.fingerprint
from input i join taken t on t.scope = i.scope and t.key = i.key
