-- How long ended jobs are kept. One truth for all nodes; where no rule fits, the program's default
-- holds. The rule that names the kind goes before one that names the queue, that before one that
-- names the state.
create table longshore.retention (
    id      bigint generated always as identity primary key,
    state   text check (state in ('succeeded', 'cancelled', 'dead')),  -- null: any
    queue   text collate "C",                                          -- null: any
    kind    text collate "C",                                          -- null: any
    -- null: for ever; a hundred years at most, so that no sum of times overflows
    keep_ms bigint check (keep_ms between 0 and 3162240000000)
);

-- No name is empty.
create unique index retention_scope on longshore.retention
    (coalesce(state, ''), coalesce(queue, ''), coalesce(kind, ''));
