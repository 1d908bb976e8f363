-- Twin of sqlite/migrations/0008_access.sql. Tokens of the API, of the secret its hash alone; and the audit log.
create table longshore.token (
    id           uuid primary key,
    name         text not null,
    hash         bytea not null check (length(hash) = 32),  -- SHA-256 of the secret
    prefix       text not null,                             -- its first letters, for people
    role         text,                                      -- a word of the server's; null: single rights alone
    rights       text[] not null,                           -- further words
    created_at   timestamptz not null,
    created_by   text not null,
    expires_at   timestamptz,                               -- null: never
    last_used_at timestamptz,                               -- to the minute
    revoked_at   timestamptz
);

create unique index token_hash on longshore.token (hash);

-- Who changed what: written before the change, and ended after it. One that never ended: nobody knows.
create table longshore.audit (
    id         uuid primary key,  -- UUIDv7: the order of lists
    at         timestamptz not null,
    actor      text not null,
    actor_kind text not null,
    actor_id   text,              -- a token's
    address    text,
    action     text not null,
    target     text,
    request_id text,
    status     int,               -- as over HTTP; null: not ended
    count      bigint,
    why        text,
    detail     text               -- JSON: before, after
);

create index audit_at on longshore.audit (at);
