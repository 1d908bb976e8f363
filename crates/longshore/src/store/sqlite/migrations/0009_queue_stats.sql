-- Twin of postgres/migrations/0009_queue_stats.sql: same table and columns, in the same order.

CREATE TABLE longshore_queue_stats (
    queue TEXT PRIMARY KEY,
    depth INTEGER NOT NULL,
    capped INTEGER NOT NULL,     -- 1: there were more
    oldest_at INTEGER,           -- since when the oldest was due; NULL: none waited
    counted_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
