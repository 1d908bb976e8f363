-- Twin of postgres/migrations/0011_requests.sql. Requests that were carried out, so that a repeat is not.
CREATE TABLE longshore_request (
    key BLOB PRIMARY KEY CHECK (length(key) = 32),  -- SHA-256 of the caller and the key
    fingerprint BLOB NOT NULL,                      -- SHA-256 of what was asked for
    answer TEXT,                                    -- JSON: ids and outcomes
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX longshore_request_at ON longshore_request (at);
