-- Unique keys, and what a job that lost its key or was throttled must remember.

-- Who holds which key. Its primary key is what makes two enqueues of one key meet.
create table longshore.unique_key (
    scope       text collate "C" not null,     -- kind:KIND
    key         text collate "C" not null,     -- what longshore.unique_text made of the caller's
    job_id      uuid not null,
    until       timestamptz,                   -- null: until its job ends; infinity: for good
    fingerprint bytea,                         -- of the holder's payload, if it asked for that
    primary key (scope, key)
) with (
    fillfactor = 70,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_cost_delay = 0
);
create index unique_key_until on longshore.unique_key (until) where until < 'infinity';

alter table longshore.job
    add column superseded_by uuid,                  -- a newer job took this running one's key
    add column throttles int not null default 0;    -- in a row, since the last counted attempt

-- A key as it is stored: the caller's own while its job is active; with a window its length and
-- number behind it; for good, a mark. A caller's key never has chr(31), so these never meet.
create function longshore.unique_text(key text, span_ms bigint, for_good boolean, due timestamptz)
    returns text
    language sql
    stable
as $$
    select case
        when span_ms is not null then key || chr(31) || span_ms || chr(31)
            || (m.at - ((m.at % (span_ms * 1000)) + span_ms * 1000) % (span_ms * 1000)) / (span_ms * 1000)
        when for_good then key || chr(31) || 'good'
        else key
    end
    from (select (extract(epoch from due) * 1000000)::bigint as at) m
$$;

-- Until when a stored key that is taken now is held; null: until its job ends. A window's number is
-- part of its key, so held too long it is in nobody's way; but one that is over already, of a job due in
-- the past, must still keep a second one out.
create function longshore.unique_until(stored text, now timestamptz)
    returns timestamptz
    language sql
    stable
as $$
    select case
        when position(chr(31) in stored) = 0 then null
        when split_part(stored, chr(31), 2) = 'good' then timestamptz 'infinity'
        else greatest(
            timestamptz 'epoch' + (split_part(stored, chr(31), 3)::bigint + 1)
                * split_part(stored, chr(31), 2)::bigint * interval '1 millisecond',
            now + split_part(stored, chr(31), 2)::bigint * interval '1 millisecond')
    end
$$;
