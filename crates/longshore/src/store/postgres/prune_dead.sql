-- Only here: a step of prune.sql on SQLite.
-- Some dead jobs, the longest dead first: away with those that are past their time, and with their
-- payloads and logs. One that somebody holds just now, a retry perhaps, is left for the next walk.
-- $1 after this dead_at · $2 and this id · $3 dead by then · $4 jobs to look at · $5 most bytes
-- $6 only look · $7 now, of a test's clock
with clock as materialized (
    select coalesce($7::timestamptz, now()) as now),
seen as materialized (
    select j.id, j.queue, j.kind, j.dead_at, j.payload is null as aside
    from longshore.job j
    where j.dead_at is not null and j.dead_at >= $1::timestamptz
      and (j.dead_at, j.id) > ($1::timestamptz, $2::uuid) and j.dead_at <= $3::timestamptz
    order by j.dead_at, j.id
    limit $4::bigint),
keeps as materialized (
    select d.queue, d.kind, (
        select r.keep_ms from longshore.retention r
        where (r.kind is null or r.kind = d.kind) and (r.queue is null or r.queue = d.queue)
          and (r.state is null or r.state = 'dead')
        order by r.kind is null, r.queue is null, r.state is null
        limit 1) as keep_ms
    from (select distinct s.queue, s.kind from seen s) d),
timed as materialized (
    select s.id, s.dead_at, s.aside, s.dead_at + k.keep_ms * interval '1 millisecond' as due_at
    from seen s join keeps k on k.kind = s.kind and k.queue = s.queue),
old as materialized (
    select o.id, sum(o.bytes) over (order by o.dead_at, o.id) - o.bytes as before
    from (
        select t.id, t.dead_at, 1000 + case when t.aside then coalesce((
            select pg_column_size(p.payload) from longshore.payload p where p.id = t.id), 0) else 0 end
            + coalesce((select sum(l.bytes) from longshore.log l where l.id = t.id), 0)::bigint as bytes
        from timed t, clock c
        where t.due_at <= c.now) o),
held as materialized (
    select j.id from longshore.job j
    where not $6::bool and j.dead_at is not null
      and j.id = any(array(select o.id from old o where o.before < $5::bigint))
    order by j.id
    for update skip locked),
gone as (
    delete from longshore.job j
    where j.id = any(array(select h.id from held h)) and j.dead_at is not null
    returning j.id, j.payload is null as aside),
dropped as (
    delete from longshore.payload p
    where p.id = any(array(select g.id from gone g where g.aside))),
unsaid as (
    delete from longshore.progress p
    where p.id = any(array(select g.id from gone g))),
unlogged as (
    delete from longshore.log l
    where l.id = any(array(select g.id from gone g))),
last as materialized (
    select s.dead_at, s.id from seen s order by s.dead_at desc, s.id desc limit 1)
select (select count(*) from seen) as rows, (select count(*) from old) as old, (select count(*) from gone) as gone,
    exists (select from old o where o.before >= $5::bigint) as left_over,
    (select min(t.due_at) from timed t, clock c where t.due_at > c.now) as earliest,
    (select l.dead_at from last l) as last_at, (select l.id from last l) as last_id
