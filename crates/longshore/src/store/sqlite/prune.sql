-- Only here: one file for what prune_*.sql do on PostgreSQL. Looks are made by a reader; what they found
-- is looked at again under the write lock, since it may have moved.

-- step: end
-- Where history ends now: new rows come after this one.
SELECT max(seq) FROM longshore_history;

-- step: look
-- One chunk of history: what is in it, and which rows are past their time, as many as may go at once.
-- The rule of a row is looked up once for each (state, queue, kind), however many rules there are.
-- $1 from seq · $2 to below this · $3 now · $4 most bytes that go at once
WITH seen AS MATERIALIZED (
    SELECT seq, state, queue, kind, retain_ms, finished_at, payload IS NULL AS aside,
        1000 + coalesce(octet_length(output), 0) + coalesce(octet_length(errors), 0)
            + CASE WHEN payload IS NULL THEN coalesce((SELECT octet_length(p.payload)
                FROM longshore_payload AS p WHERE p.id = longshore_history.id), 0) ELSE 0 END
            + coalesce((SELECT sum(l.bytes) FROM longshore_log AS l WHERE l.id = longshore_history.id), 0) AS bytes
    FROM longshore_history
    WHERE seq >= $1 AND seq < $2),
keeps AS MATERIALIZED (
    SELECT state, queue, kind, coalesce((
        SELECT coalesce(r.keep_ms, -1) FROM longshore_retention AS r
        WHERE (r.kind IS NULL OR r.kind = d.kind) AND (r.queue IS NULL OR r.queue = d.queue)
            AND (r.state IS NULL OR r.state = d.state)
        ORDER BY r.kind IS NULL, r.queue IS NULL, r.state IS NULL LIMIT 1), 604800000) AS keep_ms
    FROM (SELECT DISTINCT state, queue, kind FROM seen) AS d),
timed AS MATERIALIZED (
    SELECT s.seq, s.state, s.aside, s.finished_at, s.bytes,
        CASE WHEN coalesce(s.retain_ms, k.keep_ms) >= 0
            THEN 1000 * min(coalesce(s.retain_ms, k.keep_ms), 3162240000000) END AS span
    FROM seen AS s JOIN keeps AS k ON k.kind = s.kind AND k.queue = s.queue AND k.state = s.state),
old AS MATERIALIZED (
    SELECT seq, state, aside, bytes, finished_at + span AS due_at,
        sum(bytes) OVER (ORDER BY seq) - bytes AS before
    FROM timed WHERE finished_at + span <= $3),
go AS MATERIALIZED (SELECT seq, state, aside FROM old WHERE before < $4)
SELECT (SELECT count(*) FROM timed) AS seen_rows,
    (SELECT count(*) FROM old) AS old_rows,
    (SELECT count(*) FROM go WHERE state = 'succeeded') AS succeeded,
    (SELECT count(*) FROM go WHERE state = 'cancelled') AS cancelled,
    (SELECT count(*) FROM go WHERE aside) AS aside,
    (SELECT json_group_array(seq) FROM go) AS seqs,
    (SELECT min(due_at) FROM old) AS found,
    (SELECT min(due_at) FROM old WHERE before >= $4) AS left_over,
    (SELECT min(finished_at + span) FROM timed WHERE finished_at + span > $3) AS earliest,
    (SELECT max(finished_at) FROM timed) AS newest,
    (SELECT min(span) FROM timed) AS shortest;

-- step: drop_payloads
-- $1 seqs, a JSON array
DELETE FROM longshore_payload WHERE id IN (
    SELECT id FROM longshore_history
    WHERE seq IN (SELECT value FROM json_each($1)) AND payload IS NULL);

-- step: drop_progress
-- $1 seqs, a JSON array
DELETE FROM longshore_progress WHERE id IN (
    SELECT id FROM longshore_history WHERE seq IN (SELECT value FROM json_each($1)));

-- step: drop_log
-- $1 seqs, a JSON array
DELETE FROM longshore_log WHERE id IN (
    SELECT id FROM longshore_history WHERE seq IN (SELECT value FROM json_each($1)));

-- step: drop
-- $1 seqs, a JSON array
DELETE FROM longshore_history WHERE seq IN (SELECT value FROM json_each($1));

-- step: dead
-- Some dead jobs, the longest dead first, and which of them are past their time.
-- $1 after this dead_at · $2 and this id · $3 dead by then · $4 jobs to look at · $5 now · $6 most bytes
WITH seen AS MATERIALIZED (
    SELECT seq, id, queue, kind, dead_at, payload IS NULL AS aside,
        1000 + coalesce(octet_length(errors), 0)
            + CASE WHEN payload IS NULL THEN coalesce((SELECT octet_length(p.payload)
                FROM longshore_payload AS p WHERE p.id = longshore_job.id), 0) ELSE 0 END
            + coalesce((SELECT sum(l.bytes) FROM longshore_log AS l WHERE l.id = longshore_job.id), 0) AS bytes
    FROM longshore_job
    WHERE dead_at IS NOT NULL AND dead_at >= $1 AND (dead_at, id) > ($1, $2) AND dead_at <= $3
    ORDER BY dead_at, id LIMIT +$4),
keeps AS MATERIALIZED (
    SELECT queue, kind, coalesce((
        SELECT coalesce(r.keep_ms, -1) FROM longshore_retention AS r
        WHERE (r.kind IS NULL OR r.kind = d.kind) AND (r.queue IS NULL OR r.queue = d.queue)
            AND (r.state IS NULL OR r.state = 'dead')
        ORDER BY r.kind IS NULL, r.queue IS NULL, r.state IS NULL LIMIT 1), -1) AS keep_ms
    FROM (SELECT DISTINCT queue, kind FROM seen) AS d),
timed AS MATERIALIZED (
    SELECT s.seq, s.id, s.dead_at, s.aside, s.bytes,
        CASE WHEN k.keep_ms >= 0 THEN s.dead_at + 1000 * k.keep_ms END AS due_at
    FROM seen AS s JOIN keeps AS k ON k.kind = s.kind AND k.queue = s.queue),
old AS MATERIALIZED (
    SELECT seq, id, aside, sum(bytes) OVER (ORDER BY dead_at, id) - bytes AS before
    FROM timed WHERE due_at <= $5),
last AS MATERIALIZED (SELECT dead_at, id FROM seen ORDER BY dead_at DESC, id DESC LIMIT 1)
SELECT (SELECT count(*) FROM seen) AS seen_rows,
    (SELECT count(*) FROM old) AS old_rows,
    (SELECT count(*) FROM old WHERE before < $6) AS dead,
    (SELECT count(*) FROM old WHERE before < $6 AND aside) AS aside,
    (SELECT json_group_array(seq) FROM old WHERE before < $6) AS seqs,
    (SELECT min(due_at) FROM timed WHERE due_at > $5) AS earliest,
    (SELECT dead_at FROM last) AS last_at,
    (SELECT id FROM last) AS last_id;

-- step: drop_dead_payloads
-- $1 seqs, a JSON array
DELETE FROM longshore_payload WHERE id IN (
    SELECT id FROM longshore_job
    WHERE seq IN (SELECT value FROM json_each($1)) AND payload IS NULL);

-- step: drop_dead_progress
-- $1 seqs, a JSON array
DELETE FROM longshore_progress WHERE id IN (
    SELECT id FROM longshore_job WHERE seq IN (SELECT value FROM json_each($1)));

-- step: drop_dead_log
-- $1 seqs, a JSON array
DELETE FROM longshore_log WHERE id IN (
    SELECT id FROM longshore_job WHERE seq IN (SELECT value FROM json_each($1)));

-- step: drop_dead
-- $1 seqs, a JSON array
DELETE FROM longshore_job WHERE seq IN (SELECT value FROM json_each($1)) AND dead_at IS NOT NULL;
