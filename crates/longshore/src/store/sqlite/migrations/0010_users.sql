-- Twin of postgres/migrations/0010_users.sql. People who sign in, and the sessions that they have.
CREATE TABLE longshore_user (
    name TEXT PRIMARY KEY,      -- in lower case
    password TEXT NOT NULL,     -- a slow hash with its salt, in the words of whoever made it
    role TEXT,                  -- a word of the server's; NULL: single rights alone
    rights TEXT NOT NULL,       -- further words, as a JSON array
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    changed_at INTEGER NOT NULL,
    version INTEGER NOT NULL DEFAULT 1,  -- one more with each change: sessions of an older one have ended
    disabled_at INTEGER,
    signed_in_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE longshore_session (
    id BLOB PRIMARY KEY CHECK (length(id) = 16),
    hash BLOB NOT NULL CHECK (length(hash) = 32),  -- SHA-256 of the secret
    user_name TEXT NOT NULL,
    user_version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,                      -- to the minute
    expires_at INTEGER NOT NULL,
    address TEXT
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX longshore_session_hash ON longshore_session (hash);
CREATE INDEX longshore_session_by_user ON longshore_session (user_name, id);
