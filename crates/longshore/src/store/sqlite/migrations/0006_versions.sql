-- Twin of postgres/migrations/0006_versions.sql. Differs: no function to enqueue with; the view is made anew.
ALTER TABLE longshore_job ADD COLUMN payload_version INTEGER NOT NULL DEFAULT 1;
ALTER TABLE longshore_job ADD COLUMN redacted TEXT;           -- fields of the payload, a JSON array; NULL: none
ALTER TABLE longshore_history ADD COLUMN payload_version INTEGER NOT NULL DEFAULT 1;
ALTER TABLE longshore_history ADD COLUMN redacted TEXT;

-- A payload with fields that nobody is shown is left out.
DROP VIEW longshore_jobs;
CREATE VIEW longshore_jobs AS
SELECT
    lower(substr(hex(id_bytes), 1, 8) || '-' || substr(hex(id_bytes), 9, 4) || '-' || substr(hex(id_bytes), 13, 4)
        || '-' || substr(hex(id_bytes), 17, 4) || '-' || substr(hex(id_bytes), 21)) AS id,
    kind, queue, state, priority, attempt, max_attempts,
    strftime('%Y-%m-%dT%H:%M:%S', (run_at - (run_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
        || printf('.%06dZ', (run_at % 1000000 + 1000000) % 1000000) AS run_at,
    strftime('%Y-%m-%dT%H:%M:%S', (created_at - (created_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
        || printf('.%06dZ', (created_at % 1000000 + 1000000) % 1000000) AS created_at,
    strftime('%Y-%m-%dT%H:%M:%S', (leased_at - (leased_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
        || printf('.%06dZ', (leased_at % 1000000 + 1000000) % 1000000) AS leased_at,
    strftime('%Y-%m-%dT%H:%M:%S', (finished_at - (finished_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
        || printf('.%06dZ', (finished_at % 1000000 + 1000000) % 1000000) AS finished_at,
    payload, output, coalesce(errors, '[]') AS errors, coalesce(tags, '[]') AS tags, meta,
    CASE WHEN instr(unique_key, char(31)) > 0 THEN substr(unique_key, 1, instr(unique_key, char(31)) - 1)
        ELSE unique_key END AS unique_key,
    CASE WHEN node IS NOT NULL THEN lower(substr(hex(node), 1, 8) || '-' || substr(hex(node), 9, 4) || '-' || substr(hex(node), 13, 4)
        || '-' || substr(hex(node), 17, 4) || '-' || substr(hex(node), 21)) END AS node,
    strftime('%Y-%m-%dT%H:%M:%S', (cancel_at - (cancel_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
        || printf('.%06dZ', (cancel_at % 1000000 + 1000000) % 1000000) AS cancel_at,
    cancel_by, cancel_why, id_bytes, payload_version, coalesce(redacted, '[]') AS redacted
FROM (
    SELECT id AS id_bytes, kind, queue,
        CASE WHEN dead_at IS NOT NULL THEN 'dead' WHEN node IS NOT NULL THEN 'running'
            WHEN blocked_on > 0 THEN 'blocked'
            -- Milliseconds are what every version of SQLite can tell.
            WHEN run_at > CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000
                THEN CASE WHEN attempt > 0 THEN 'retrying' ELSE 'scheduled' END
            ELSE 'queued' END AS state,
        priority, attempt, max_attempts, run_at, created_at, leased_at, dead_at AS finished_at,
        CASE WHEN redacted IS NULL THEN
            coalesce(payload, (SELECT p.payload FROM longshore_payload AS p WHERE p.id = longshore_job.id)) END
            AS payload,
        NULL AS output, errors, tags, meta, unique_key, node, cancel_at, cancel_by, cancel_why, payload_version,
        redacted
    FROM longshore_job
    UNION ALL
    SELECT id, kind, queue, state, priority, attempt, max_attempts, run_at, created_at, leased_at, finished_at,
        CASE WHEN redacted IS NULL THEN
            coalesce(payload, (SELECT p.payload FROM longshore_payload AS p WHERE p.id = longshore_history.id)) END,
        output, errors, tags, meta, unique_key, node, cancel_at, cancel_by, cancel_why, payload_version, redacted
    FROM longshore_history);
