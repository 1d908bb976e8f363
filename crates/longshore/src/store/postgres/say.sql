-- Keeps what runs said: how far they are, and log lines. One row for each job whose lease still holds.
-- The lock puts it in order with whatever ends the run or gives its job away; claims never wait for it, since
-- they want no running job. Need not survive a crash.
-- Of an attempt the newest 1,000 lines are kept, in 256 KiB; of a job the newest ten attempts.
-- $1 node · one array for each column: $2 ids, growing · $3 lease · $4 fraction or null · $5 text · $6 lines,
-- JSON, or null · $7 how many · $8 lines left out before them · $9 the run's mark · $10 its own number of the
-- first line · $11 now, of a test's clock
with clock as materialized (
    select coalesce($11::timestamptz, now()) as now, set_config('synchronous_commit', 'off', true) as set),
held as materialized (
    -- finish.sql says why there is no join here.
    select j.id, j.attempt, w.n
    from clock c
        cross join longshore.job j
        cross join lateral (select width_bucket(j.id, $2::uuid[]) as n) w
    where j.id = any($2::uuid[]) and j.node = $1::uuid and j.dead_at is null
      and j.lease = ($3::bigint[])[w.n]
    order by j.id
    for no key update of j),
shown as (
    insert into longshore.progress as p (id, attempt, fraction, said, at)
    select h.id, h.attempt, ($4::float8[])[h.n], ($5::text[])[h.n], c.now
    from held h, clock c
    where ($4::float8[])[h.n] is not null
    order by h.id
    on conflict (id) do update
    set attempt = excluded.attempt, fraction = excluded.fraction, said = excluded.said, at = excluded.at),
parts as materialized (
    select h.id, h.attempt, m.lines, m.count, octet_length(m.lines) as bytes, m.run, m.nth,
        coalesce(l.first + l.count, 1) + m.left_out as first,
        coalesce(l.total, 0) + octet_length(m.lines) as total
    from held h
        cross join lateral (
            select ($6::text[])[h.n] as lines, ($7::bigint[])[h.n] as count, ($8::bigint[])[h.n] as left_out,
                ($9::bigint[])[h.n] as run, ($10::bigint[])[h.n] as nth) m
        left join lateral (
            select k.first, k.count, k.total, k.run, k.nth
            from longshore.log k
            where k.id = h.id and k.attempt = h.attempt
            order by k.first desc
            limit 1) l on true
    where m.lines is not null and not coalesce(l.run = m.run and l.nth >= m.nth, false)),
added as (
    insert into longshore.log (id, attempt, first, count, bytes, total, run, nth, lines)
    select p.id, p.attempt, p.first, p.count, p.bytes, p.total, p.run, p.nth, p.lines
    from parts p
    order by p.id),
dropped as (
    delete from longshore.log l
    using parts p
    where l.id = p.id
      and (l.attempt <= p.attempt - 10
        or l.attempt = p.attempt
          and (l.first <= p.first + p.count - 1001 or l.total - l.bytes < p.total - 262144)))
select h.id from held h
