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

-- step: nodes
-- $1 now
SELECT count(*) AS live FROM longshore_node WHERE lost_at IS NULL AND expires_at > $1;
