-- Twin of sqlite/migrations/0010_users.sql. People who sign in, and the sessions that they have.
create table longshore.user (
    name         text primary key,      -- in lower case
    password     text not null,         -- a slow hash with its salt, in the words of whoever made it
    role         text,                  -- a word of the server's; null: single rights alone
    rights       text[] not null,       -- further words
    created_at   timestamptz not null,
    created_by   text not null,
    changed_at   timestamptz not null,
    version      bigint not null default 1,  -- one more with each change: sessions of an older one have ended
    disabled_at  timestamptz,
    signed_in_at timestamptz
);

create table longshore.session (
    id           uuid primary key,
    hash         bytea not null check (length(hash) = 32),  -- SHA-256 of the secret
    user_name    text not null,
    user_version bigint not null,
    created_at   timestamptz not null,
    seen_at      timestamptz not null,                      -- to the minute
    expires_at   timestamptz not null,
    address      text
);

create unique index session_hash on longshore.session (hash);
create index session_by_user on longshore.session (user_name, id);
