-- Twin of postgres/migrations/0013_queues.sql: same tables and columns, in the same order.

CREATE TABLE longshore_pause (
    scope TEXT NOT NULL CHECK (scope IN ('queue', 'kind')),
    name TEXT NOT NULL,
    paused_by TEXT,
    why TEXT,
    since INTEGER NOT NULL,
    until INTEGER,               -- NULL: until somebody resumes it
    mark INTEGER NOT NULL,       -- random, another one for each pause: tells sets of pauses apart
    PRIMARY KEY (scope, name)
) STRICT, WITHOUT ROWID;

ALTER TABLE longshore_node ADD COLUMN wish TEXT;
ALTER TABLE longshore_node ADD COLUMN state TEXT;

CREATE TABLE longshore_kind (
    name TEXT PRIMARY KEY,
    version INTEGER,             -- the greatest that a node decoded; NULL: any
    schema TEXT,                 -- of the payload; NULL: not known
    seen_at INTEGER NOT NULL     -- when a node said it last
) STRICT, WITHOUT ROWID;
