-- Twin of postgres/migrations/0007_said.sql.
CREATE TABLE longshore_progress (
    seq INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    attempt INTEGER NOT NULL,
    fraction REAL NOT NULL CHECK (fraction >= 0 AND fraction <= 1),
    said TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;

-- `first` counts every line of the attempt, from 1, also those that were left out.
CREATE TABLE longshore_log (
    seq INTEGER PRIMARY KEY,
    id BLOB NOT NULL,
    attempt INTEGER NOT NULL,
    first INTEGER NOT NULL,
    count INTEGER NOT NULL,
    bytes INTEGER NOT NULL,  -- of `lines`
    total INTEGER NOT NULL,  -- of the attempt, up to here
    run INTEGER NOT NULL,    -- by which run, drawn by chance; and its own number of the first line: so
    nth INTEGER NOT NULL,    -- that a repeated write adds nothing
    lines TEXT NOT NULL,     -- JSON: [[µs since 1970, level, target, message, fields or null], …]
    UNIQUE (id, attempt, first)
) STRICT;
