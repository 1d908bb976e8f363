-- What is paused, what nodes were asked to do, and which kinds nodes have said they know.

create table longshore.pause (
    scope     text not null check (scope in ('queue', 'kind')),
    name      text collate "C" not null,
    paused_by text,
    why       text,
    since     timestamptz not null,
    until     timestamptz,             -- null: until somebody resumes it
    mark      bigint not null,         -- random, another one for each pause: tells sets of pauses apart
    primary key (scope, name)
);

alter table longshore.node
    add column wish  text,             -- what it was asked to be: quiet, stop; null: to serve
    add column state text;             -- what it is, in its own words: serving, quiet, stopping

create table longshore.kind (
    name    text collate "C" primary key,
    version int,                       -- the greatest that a node decoded; null: any
    schema  json,                      -- of the payload; null: not known
    seen_at timestamptz not null       -- when a node said it last
);
