-- Twin of postgres/migrations/0002_unique.sql. Differs: the texts of keys are made in Rust, and two
-- triggers give keys back, since one writer cannot meet another in the wrong order.

CREATE TABLE longshore_unique_key (
    scope TEXT NOT NULL,         -- kind:KIND
    key TEXT NOT NULL,           -- what job/unique.rs made of the caller's
    job_id BLOB NOT NULL,
    until INTEGER,               -- NULL: until its job ends; the largest integer: for good
    fingerprint BLOB,            -- of the holder's payload, if it asked for that
    PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX longshore_unique_key_until ON longshore_unique_key (until)
    WHERE until < 9223372036854775807;

ALTER TABLE longshore_job ADD COLUMN superseded_by BLOB;
ALTER TABLE longshore_job ADD COLUMN throttles INTEGER NOT NULL DEFAULT 0;

-- A job that ends gives its key back; one that ended well keeps a window and "for good".
CREATE TRIGGER longshore_job_ends AFTER DELETE ON longshore_job
WHEN OLD.unique_key IS NOT NULL
BEGIN
    DELETE FROM longshore_unique_key
    WHERE scope = 'kind:' || OLD.kind AND key = OLD.unique_key AND job_id = OLD.id
        AND (until IS NULL OR OLD.cancel_at IS NOT NULL);
END;

-- A dead job gives back all.
CREATE TRIGGER longshore_job_dies AFTER UPDATE OF dead_at ON longshore_job
WHEN NEW.unique_key IS NOT NULL AND NEW.dead_at IS NOT NULL AND OLD.dead_at IS NULL
BEGIN
    DELETE FROM longshore_unique_key
    WHERE scope = 'kind:' || NEW.kind AND key = NEW.unique_key AND job_id = NEW.id;
END;
