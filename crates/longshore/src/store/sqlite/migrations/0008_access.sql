-- Twin of postgres/migrations/0008_access.sql. Tokens of the API, of the secret its hash alone; and the audit log.
CREATE TABLE longshore_token (
    id BLOB PRIMARY KEY CHECK (length(id) = 16),
    name TEXT NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32),  -- SHA-256 of the secret
    prefix TEXT NOT NULL,                          -- its first letters, for people
    role TEXT,                                     -- a word of the server's; NULL: single rights alone
    rights TEXT NOT NULL,                          -- further words, as a JSON array
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    expires_at INTEGER,                            -- NULL: never
    last_used_at INTEGER,                          -- to the minute
    revoked_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX longshore_token_hash ON longshore_token (hash);

-- Who changed what: written before the change, and ended after it. One that never ended: nobody knows.
CREATE TABLE longshore_audit (
    id BLOB PRIMARY KEY CHECK (length(id) = 16),  -- UUIDv7: the order of lists
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    actor_kind TEXT NOT NULL,
    actor_id TEXT,                                -- a token's
    address TEXT,
    action TEXT NOT NULL,
    target TEXT,
    request_id TEXT,
    status INTEGER,                               -- as over HTTP; NULL: not ended
    count INTEGER,
    why TEXT,
    detail TEXT                                   -- JSON: before, after
) STRICT, WITHOUT ROWID;

CREATE INDEX longshore_audit_at ON longshore_audit (at);
