-- Only here: SQLite has no COPY. The same columns as copy.sql.
copy longshore.bench_plain (id, kind, queue, priority, run_at, created_at, max_attempts, backoff, timeout_ms,
    retain_ms, tags, meta, payload, payload_version, redacted)
from stdin (format binary)
