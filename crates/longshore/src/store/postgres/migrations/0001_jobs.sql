-- What moves (job), what ended (history), large payloads (payload), who holds what (claim, node,
-- leader). The runner has made the schema and longshore.migration already.

create table longshore.job (
    id           uuid primary key,
    kind         text collate "C" not null,
    queue        text collate "C" not null,
    priority     smallint not null,
    run_at       timestamptz,                  -- null: dead
    created_at   timestamptz not null,
    max_attempts int not null,
    backoff      json,                         -- null: the default policy
    timeout_ms   bigint,                       -- null: none
    retain_ms    bigint,                       -- null: the default
    tags         text[],                       -- null: none
    meta         json,
    payload      json,                         -- null: aside, in longshore.payload
    errors       json[],                       -- null: none
    version      int not null default 0,
    unique_key   text collate "C",
    part_key     text collate "C",
    blocked_on   int not null default 0,
    dead_at      timestamptz,
    cancel_at    timestamptz,
    cancel_by    text,
    cancel_why   text,
    attempt      int not null default 0,
    node         uuid,
    lease        bigint,
    leased_at    timestamptz
)
-- More than half of each page is left for claims, which then touch no index (HOT): a claim adds 32
-- bytes to a row, so half would not do for small ones (82 % HOT, and 100 % at 42). Vacuum starts at 5,000 dead
-- rows and 2 %: at 0 % it would walk ten million waiting rows for every 5,000 dead ones.
with (
    fillfactor = 42,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_cost_delay = 0,
    autovacuum_analyze_threshold = 5000,
    autovacuum_analyze_scale_factor = 0.1
);

-- No index here, and no predicate, may name what a claim changes: node, lease, attempt, leased_at.
create index job_claim on longshore.job (queue, priority, run_at, id) where part_key is null;
create index job_part on longshore.job (queue, part_key, run_at, id) where part_key is not null;
create index job_dead on longshore.job (dead_at) where dead_at is not null;
create index job_cancel on longshore.job (cancel_at) where cancel_at is not null;
create index job_unique on longshore.job (unique_key) where unique_key is not null;

-- One partition for each day (UTC), so that most of retention is dropping tables. No default
-- partition: with one, DETACH … CONCURRENTLY is not allowed.
create table longshore.history (
    id           uuid not null,
    kind         text collate "C" not null,
    queue        text collate "C" not null,
    priority     smallint not null,
    run_at       timestamptz,
    created_at   timestamptz not null,
    max_attempts int not null,
    backoff      json,
    timeout_ms   bigint,
    retain_ms    bigint,
    tags         text[],
    meta         json,
    payload      json,
    errors       json[],
    unique_key   text collate "C",
    part_key     text collate "C",
    cancel_at    timestamptz,
    cancel_by    text,
    cancel_why   text,
    attempt      int not null,
    node         uuid,
    lease        bigint,
    leased_at    timestamptz,
    finished_at  timestamptz not null,
    state        text not null check (state in ('succeeded', 'cancelled')),
    output       json,
    primary key (id, finished_at)
) partition by range (finished_at);

-- Payloads above 2,000 bytes. Written once, never moved; gone with the job's last row.
create table longshore.payload (
    id      uuid primary key,
    payload json not null
);

-- Who took which jobs, one row for each claim statement: the index on job.node that HOT forbids.
-- A row without ids is a claim that must not come true any more.
create table longshore.claim (
    node uuid not null,
    no   bigint not null,
    ids  uuid[] not null,
    primary key (node, no)
) with (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

create table longshore.node (
    id         uuid primary key,
    name       text not null,
    version    text not null,
    queues     json not null,                  -- [[name, slots], …]
    kinds      text[] not null,
    started_at timestamptz not null,
    expires_at timestamptz not null,
    lost_at    timestamptz
) with (fillfactor = 50, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0);

-- The lead: always this one row.
create table longshore.leader (
    one        boolean primary key default true check (one),
    term       bigint not null,
    node       uuid,
    expires_at timestamptz not null
) with (fillfactor = 50);
insert into longshore.leader (term, node, expires_at) values (0, null, '-infinity');

-- Makes history's partition for one day (UTC), if it is not there. Any number of sessions may call
-- it at once. ATTACH takes a weak lock; PARTITION OF would take the strongest and wait behind every
-- reader with all writers behind it.
create function longshore.make_history_day(day date) returns void
    language plpgsql
    set lock_timeout = '2s'
as $$
declare
    part text := 'history_' || to_char(day, 'YYYYMMDD');
    attached boolean;
begin
    -- Orders those who make the same day at once; ends with the transaction.
    perform pg_advisory_xact_lock(hashtextextended('longshore.history', 0));
    select exists (
        select from pg_inherits i
        where i.inhparent = 'longshore.history'::regclass
          and i.inhrelid = to_regclass('longshore.' || part)) into attached;
    if attached then
        return;
    end if;
    execute format(
        'create table if not exists longshore.%I (like longshore.history including defaults including constraints including storage including indexes) '
        'with (autovacuum_vacuum_insert_threshold = 50000, autovacuum_vacuum_scale_factor = 0.05)',
        part);
    execute format(
        'alter table longshore.history attach partition longshore.%I for values from (%L) to (%L)',
        part, day::text || ' 00:00:00+00', (day + 1)::text || ' 00:00:00+00');
end
$$;

select longshore.make_history_day(((now() at time zone 'UTC')::date) + n) from generate_series(0, 7) n;
