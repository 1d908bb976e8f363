-- What runs say while they run: how far they are, and their log lines. Away from `job`, so that no such
-- write touches a row that a claim walks over. Both go with their job's last row.
create table longshore.progress (
    id       uuid primary key,
    attempt  int not null,
    fraction double precision not null check (fraction >= 0 and fraction <= 1),
    said     text not null,
    at       timestamptz not null
) with (fillfactor = 50, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

-- Lines that were written together lie together. `first` counts every line of the attempt, from 1, also
-- those that were left out: a gap says how many.
create table longshore.log (
    id      uuid not null,
    attempt int not null,
    first   bigint not null,
    count   bigint not null,
    bytes   bigint not null,  -- of `lines`
    total   bigint not null,  -- of the attempt, up to here
    run     bigint not null,  -- by which run, drawn by chance; and its own number of the first line: so that
    nth     bigint not null,  -- a repeated write adds nothing
    lines   text not null,    -- JSON: [[µs since 1970, level, target, message, fields or null], …]
    primary key (id, attempt, first)
);
