-- Twin of postgres/migrations/0003_retention.sql.
CREATE TABLE longshore_retention (
    id INTEGER PRIMARY KEY,
    state TEXT CHECK (state IN ('succeeded', 'cancelled', 'dead')),  -- NULL: any
    queue TEXT,                                                      -- NULL: any
    kind TEXT,                                                       -- NULL: any
    -- NULL: for ever; a hundred years at most, so that no sum of times overflows
    keep_ms INTEGER CHECK (keep_ms BETWEEN 0 AND 3162240000000)
) STRICT;

-- No name is empty.
CREATE UNIQUE INDEX longshore_retention_scope ON longshore_retention
    (coalesce(state, ''), coalesce(queue, ''), coalesce(kind, ''));
