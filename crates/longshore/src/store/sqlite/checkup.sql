-- Twin of postgres/checkup.sql and checkup_jobs.sql. Differs: several statements, so that one that meets a
-- damaged page does not take the others along; and the file itself is looked through.

-- step: journal
SELECT journal_mode AS mode FROM pragma_journal_mode;

-- step: whole
PRAGMA integrity_check(100);

-- step: quick
PRAGMA quick_check(100);

-- step: orphans
-- Running jobs whose node is gone, lost, or silent since before then. $1 a minute ago
SELECT count(*) AS jobs FROM longshore_job AS j
WHERE j.node IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM longshore_node AS n
    WHERE n.id = j.node AND n.lost_at IS NULL AND n.expires_at > $1);

-- step: unowned
-- Logs and progress whose job is gone. Ids grow: what was left behind by hand is among the oldest.
SELECT count(*) AS jobs FROM (
    SELECT id FROM (SELECT id FROM longshore_progress ORDER BY id LIMIT 500)
    UNION
    SELECT id FROM (SELECT DISTINCT id FROM longshore_log ORDER BY id LIMIT 500)) AS s
WHERE id NOT IN (SELECT j.id FROM longshore_job AS j WHERE j.id = s.id)
    AND id NOT IN (SELECT h.id FROM longshore_history AS h WHERE h.id = s.id);

-- step: nodes
-- $1 now
SELECT count(*) AS live FROM longshore_node WHERE lost_at IS NULL AND expires_at > $1;
