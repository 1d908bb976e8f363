-- Twin of postgres/migrations/0001_jobs.sql: same tables and columns, in the same order.
-- Differs: an integer key beside the unique id, times as microseconds since 1970 UTC, and no
-- `claim` table, since SQLite has no HOT updates to protect and may index job(node).

CREATE TABLE longshore_job (
    seq INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    queue TEXT NOT NULL,
    priority INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 9),
    run_at INTEGER,              -- NULL: dead
    created_at INTEGER NOT NULL,
    max_attempts INTEGER NOT NULL,
    backoff TEXT,                -- NULL: exponential, 1 s to 1 h, factor 3; for ever
    timeout_ms INTEGER,          -- NULL: none
    retain_ms INTEGER,           -- NULL: the default; 0: keep nothing
    tags TEXT,                   -- JSON array; NULL: none
    meta TEXT,
    payload TEXT,                -- NULL: aside, in longshore_payload
    errors TEXT,                 -- JSON array, newest 10
    version INTEGER NOT NULL DEFAULT 0,
    unique_key TEXT,
    part_key TEXT,
    blocked_on INTEGER NOT NULL DEFAULT 0,
    dead_at INTEGER,
    cancel_at INTEGER,
    cancel_by TEXT,
    cancel_why TEXT,
    attempt INTEGER NOT NULL DEFAULT 0,
    node BLOB,
    lease INTEGER,
    leased_at INTEGER
) STRICT;

-- What a claim walks: only rows that can be taken.
CREATE INDEX longshore_job_claim ON longshore_job (queue, priority, run_at, id)
    WHERE node IS NULL AND dead_at IS NULL AND cancel_at IS NULL AND blocked_on = 0
        AND part_key IS NULL;
CREATE INDEX longshore_job_part ON longshore_job (queue, part_key, run_at, id)
    WHERE part_key IS NOT NULL;
CREATE INDEX longshore_job_node ON longshore_job (node) WHERE node IS NOT NULL;
CREATE INDEX longshore_job_cancel ON longshore_job (cancel_at) WHERE cancel_at IS NOT NULL;
CREATE INDEX longshore_job_dead ON longshore_job (dead_at) WHERE dead_at IS NOT NULL;
CREATE INDEX longshore_job_unique ON longshore_job (unique_key) WHERE unique_key IS NOT NULL;

CREATE TABLE longshore_history (
    seq INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    queue TEXT NOT NULL,
    priority INTEGER NOT NULL,
    run_at INTEGER,
    created_at INTEGER NOT NULL,
    max_attempts INTEGER NOT NULL,
    backoff TEXT,
    timeout_ms INTEGER,
    retain_ms INTEGER,
    tags TEXT,
    meta TEXT,
    payload TEXT,
    errors TEXT,
    unique_key TEXT,
    part_key TEXT,
    cancel_at INTEGER,
    cancel_by TEXT,
    cancel_why TEXT,
    attempt INTEGER NOT NULL,
    node BLOB,
    lease INTEGER,
    leased_at INTEGER,
    finished_at INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('succeeded', 'cancelled')),
    output TEXT
) STRICT;

CREATE TABLE longshore_payload (
    seq INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    payload TEXT NOT NULL
) STRICT;

CREATE TABLE longshore_node (
    id BLOB PRIMARY KEY,
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    queues TEXT NOT NULL,
    kinds TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    lost_at INTEGER
) STRICT;

CREATE TABLE longshore_leader (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    term INTEGER NOT NULL,
    node BLOB NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
