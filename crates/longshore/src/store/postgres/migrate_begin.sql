-- Only here: on SQLite the runner holds these few words itself.
-- Comes before the first migration.
create schema if not exists longshore;
create table longshore.migration (
    version    int primary key,
    name       text not null,
    checksum   text not null,
    applied_at timestamptz not null default now()
);
