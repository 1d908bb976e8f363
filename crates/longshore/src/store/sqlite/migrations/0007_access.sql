-- Twin of postgres/migrations/0007_access.sql. Tokens of the API: of the secret its hash alone.
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
