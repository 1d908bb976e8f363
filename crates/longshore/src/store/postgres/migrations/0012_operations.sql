-- Twin of sqlite/migrations/0012_operations.sql. Operations: one action on every job that matches, in steps.
create table longshore.operation (
    id         uuid primary key,  -- UUIDv7: the order of lists
    action     text not null,     -- the word
    arguments  text not null,     -- and what belongs to it, JSON
    query      text not null,
    asked_by   text,
    why        text,
    state      text not null check (state in ('running', 'paused', 'cancelled', 'succeeded', 'failed')),
    total      bigint not null,   -- jobs that matched at the start
    at_least   boolean not null,  -- there may have been more
    done       bigint not null default 0,
    skipped    bigint not null default 0,
    reasons    text not null default '{}',  -- why: how many each, JSON
    error      text,
    node       uuid,              -- whose step was the last
    term       bigint,            -- in which term
    created_at timestamptz not null,
    updated_at timestamptz not null,
    ended_at   timestamptz,
    last_id    uuid not null,     -- the greatest id at the start: the walk ends there
    place      uuid               -- every job up to here has had its turn; null: none yet
) with (fillfactor = 50);

-- Those that have not ended are few; a step changes none of these columns, so its update stays on the page.
create index operation_open on longshore.operation (id) where ended_at is null;
create index operation_ended on longshore.operation (ended_at) where ended_at is not null;
