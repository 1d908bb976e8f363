-- Twin of sqlite/migrations/0011_requests.sql. Requests that were carried out, so that a repeat is not.
create table longshore.request (
    key         bytea primary key check (length(key) = 32),  -- SHA-256 of the caller and the key
    fingerprint bytea not null,                              -- SHA-256 of what was asked for
    answer      text,                                        -- JSON: ids and outcomes
    at          timestamptz not null
);

create index request_at on longshore.request (at);
