-- Twin of postgres/look.sql. Differs: ids in and out are hex, sets are JSON, and names are compared with GLOB.
-- Looks at some rows: how many, how many pass, which, and the last one.
-- $1 0: down from $2, 1: up from $2, 2: the ids $4 · $3 rows to look at · $5 ids are wanted · $6 now
-- $7 states · $8 not these ids · $9 nodes · $10 not these · $11 kinds · $12 queues · $13 keys · $14 names with a
-- star and those left out: [field, left out, [pattern, …]], …; all of these NULL where nothing is said
-- $15 to $17 priority: from, to, and what is missing between · $18 to $20 attempt · $21 to $23 created
-- $24 to $26 due · $27 to $29 ended; the greatest integer is "never"

-- step: hot
WITH grp AS MATERIALIZED (
    SELECT g.key AS n, g.value ->> 0 AS field, g.value ->> 1 AS negated FROM json_each($14) AS g),
pat AS MATERIALIZED (
    SELECT g.key AS n, p.value AS glob FROM json_each($14) AS g, json_each(g.value, '$[2]') AS p)
SELECT count(*) AS looked, coalesce(sum(s.pass), 0) AS found,
    group_concat(CASE WHEN s.pass AND $5 THEN hex(s.id) END, '') AS ids,
    CASE WHEN $1 = 1 THEN max(s.id) ELSE min(s.id) END AS last
FROM (
    SELECT j.id,
        ($7 IS NULL OR CASE WHEN j.dead_at IS NOT NULL THEN 'dead' WHEN j.node IS NOT NULL THEN 'running'
            WHEN j.blocked_on > 0 THEN 'blocked' WHEN j.run_at > $6 AND j.attempt > 0 THEN 'retrying'
            WHEN j.run_at > $6 THEN 'scheduled' ELSE 'queued' END IN (SELECT value FROM json_each($7)))
        AND ($8 IS NULL OR j.id NOT IN (SELECT unhex(value) FROM json_each($8)))
        AND ($9 IS NULL OR coalesce(j.node IN (SELECT unhex(value) FROM json_each($9)), 0))
        AND ($10 IS NULL OR coalesce(j.node NOT IN (SELECT unhex(value) FROM json_each($10)), 1))
        AND ($11 IS NULL OR j.kind IN (SELECT value FROM json_each($11)))
        AND ($12 IS NULL OR j.queue IN (SELECT value FROM json_each($12)))
        AND ($13 IS NULL OR coalesce(
            substr(j.unique_key, 1, instr(j.unique_key || char(31), char(31)) - 1)
                IN (SELECT value FROM json_each($13)), 0))
        AND j.priority BETWEEN $15 AND $16
        AND ($17 IS NULL OR NOT EXISTS (SELECT 1 FROM json_each($17) AS r
            WHERE j.priority BETWEEN r.value ->> 0 AND r.value ->> 1))
        AND j.attempt BETWEEN $18 AND $19
        AND ($20 IS NULL OR NOT EXISTS (SELECT 1 FROM json_each($20) AS r
            WHERE j.attempt BETWEEN r.value ->> 0 AND r.value ->> 1))
        AND j.created_at BETWEEN $21 AND $22
        AND ($23 IS NULL OR NOT EXISTS (SELECT 1 FROM json_each($23) AS r
            WHERE j.created_at BETWEEN r.value ->> 0 AND r.value ->> 1))
        AND coalesce(j.run_at, 9223372036854775807) BETWEEN $24 AND $25
        AND ($26 IS NULL OR NOT EXISTS (SELECT 1 FROM json_each($26) AS r
            WHERE coalesce(j.run_at, 9223372036854775807) BETWEEN r.value ->> 0 AND r.value ->> 1))
        AND coalesce(j.dead_at, 9223372036854775807) BETWEEN $27 AND $28
        AND ($29 IS NULL OR NOT EXISTS (SELECT 1 FROM json_each($29) AS r
            WHERE coalesce(j.dead_at, 9223372036854775807) BETWEEN r.value ->> 0 AND r.value ->> 1))
        AND ($14 IS NULL OR NOT EXISTS (
            SELECT 1 FROM grp WHERE grp.negated = EXISTS (
                SELECT 1 FROM pat WHERE pat.n = grp.n AND CASE grp.field
                    WHEN 'kind' THEN j.kind GLOB pat.glob
                    WHEN 'queue' THEN j.queue GLOB pat.glob
                    WHEN 'key' THEN coalesce(
                        substr(j.unique_key, 1, instr(j.unique_key || char(31), char(31)) - 1) GLOB pat.glob, 0)
                    ELSE EXISTS (SELECT 1 FROM json_each(j.tags) AS t WHERE t.value GLOB pat.glob) END)))
        AS pass
    FROM (
        SELECT d.seq FROM (
            SELECT seq FROM longshore_job WHERE $1 = 0 AND id <= $2 ORDER BY id DESC LIMIT +$3) AS d
        UNION ALL
        SELECT u.seq FROM (
            SELECT seq FROM longshore_job WHERE $1 = 1 AND id >= $2 ORDER BY id LIMIT +$3) AS u
        UNION ALL
        SELECT seq FROM longshore_job WHERE $1 = 2 AND id IN (SELECT unhex(value) FROM json_each($4))) AS n
        CROSS JOIN longshore_job AS j ON j.seq = n.seq) AS s;

-- step: cold
-- $6 is not needed here
WITH grp AS MATERIALIZED (
    SELECT g.key AS n, g.value ->> 0 AS field, g.value ->> 1 AS negated FROM json_each($14) AS g),
pat AS MATERIALIZED (
    SELECT g.key AS n, p.value AS glob FROM json_each($14) AS g, json_each(g.value, '$[2]') AS p)
SELECT count(*) AS looked, coalesce(sum(s.pass), 0) AS found,
    group_concat(CASE WHEN s.pass AND $5 THEN hex(s.id) END, '') AS ids,
    CASE WHEN $1 = 1 THEN max(s.id) ELSE min(s.id) END AS last
FROM (
    SELECT j.id,
        ($7 IS NULL OR j.state IN (SELECT value FROM json_each($7)))
        AND ($8 IS NULL OR j.id NOT IN (SELECT unhex(value) FROM json_each($8)))
        AND ($9 IS NULL OR coalesce(j.node IN (SELECT unhex(value) FROM json_each($9)), 0))
        AND ($10 IS NULL OR coalesce(j.node NOT IN (SELECT unhex(value) FROM json_each($10)), 1))
        AND ($11 IS NULL OR j.kind IN (SELECT value FROM json_each($11)))
        AND ($12 IS NULL OR j.queue IN (SELECT value FROM json_each($12)))
        AND ($13 IS NULL OR coalesce(
            substr(j.unique_key, 1, instr(j.unique_key || char(31), char(31)) - 1)
                IN (SELECT value FROM json_each($13)), 0))
        AND j.priority BETWEEN $15 AND $16
        AND ($17 IS NULL OR NOT EXISTS (SELECT 1 FROM json_each($17) AS r
            WHERE j.priority BETWEEN r.value ->> 0 AND r.value ->> 1))
        AND j.attempt BETWEEN $18 AND $19
        AND ($20 IS NULL OR NOT EXISTS (SELECT 1 FROM json_each($20) AS r
            WHERE j.attempt BETWEEN r.value ->> 0 AND r.value ->> 1))
        AND j.created_at BETWEEN $21 AND $22
        AND ($23 IS NULL OR NOT EXISTS (SELECT 1 FROM json_each($23) AS r
            WHERE j.created_at BETWEEN r.value ->> 0 AND r.value ->> 1))
        AND coalesce(j.run_at, 9223372036854775807) BETWEEN $24 AND $25
        AND ($26 IS NULL OR NOT EXISTS (SELECT 1 FROM json_each($26) AS r
            WHERE coalesce(j.run_at, 9223372036854775807) BETWEEN r.value ->> 0 AND r.value ->> 1))
        AND j.finished_at BETWEEN $27 AND $28
        AND ($29 IS NULL OR NOT EXISTS (SELECT 1 FROM json_each($29) AS r
            WHERE j.finished_at BETWEEN r.value ->> 0 AND r.value ->> 1))
        AND ($14 IS NULL OR NOT EXISTS (
            SELECT 1 FROM grp WHERE grp.negated = EXISTS (
                SELECT 1 FROM pat WHERE pat.n = grp.n AND CASE grp.field
                    WHEN 'kind' THEN j.kind GLOB pat.glob
                    WHEN 'queue' THEN j.queue GLOB pat.glob
                    WHEN 'key' THEN coalesce(
                        substr(j.unique_key, 1, instr(j.unique_key || char(31), char(31)) - 1) GLOB pat.glob, 0)
                    ELSE EXISTS (SELECT 1 FROM json_each(j.tags) AS t WHERE t.value GLOB pat.glob) END)))
        AS pass
    FROM (
        SELECT d.seq FROM (
            SELECT seq FROM longshore_history WHERE $1 = 0 AND id <= $2 ORDER BY id DESC LIMIT +$3) AS d
        UNION ALL
        SELECT u.seq FROM (
            SELECT seq FROM longshore_history WHERE $1 = 1 AND id >= $2 ORDER BY id LIMIT +$3) AS u
        UNION ALL
        SELECT seq FROM longshore_history WHERE $1 = 2 AND id IN (SELECT unhex(value) FROM json_each($4))) AS n
        CROSS JOIN longshore_history AS j ON j.seq = n.seq) AS s;
