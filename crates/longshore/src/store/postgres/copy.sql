-- Only here: SQLite has no COPY, and needs none.
copy longshore.job (id, kind, queue, priority, run_at, created_at, max_attempts, backoff, timeout_ms,
    retain_ms, tags, meta, payload, payload_version, redacted)
from stdin (format binary)
