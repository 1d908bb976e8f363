-- Twin of postgres/migrations/0012_operations.sql. Operations: one action on every job that matches, in steps.
CREATE TABLE longshore_operation (
    id BLOB PRIMARY KEY CHECK (length(id) = 16),  -- UUIDv7: the order of lists
    action TEXT NOT NULL,                         -- the word
    arguments TEXT NOT NULL,                      -- and what belongs to it, JSON
    query TEXT NOT NULL,
    asked_by TEXT,
    why TEXT,
    state TEXT NOT NULL CHECK (state IN ('running', 'paused', 'cancelled', 'succeeded', 'failed')),
    total INTEGER NOT NULL,                       -- jobs that matched at the start
    at_least INTEGER NOT NULL,                    -- 1: there may have been more
    done INTEGER NOT NULL DEFAULT 0,
    skipped INTEGER NOT NULL DEFAULT 0,
    reasons TEXT NOT NULL DEFAULT '{}',           -- why: how many each, JSON
    error TEXT,
    node BLOB,                                    -- whose step was the last
    term INTEGER,                                 -- in which term
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    ended_at INTEGER,
    last_id BLOB NOT NULL,                        -- the greatest id at the start: the walk ends there
    place BLOB                                    -- every job up to here has had its turn; NULL: none yet
) STRICT, WITHOUT ROWID;

CREATE INDEX longshore_operation_open ON longshore_operation (id) WHERE ended_at IS NULL;
CREATE INDEX longshore_operation_ended ON longshore_operation (ended_at) WHERE ended_at IS NOT NULL;
