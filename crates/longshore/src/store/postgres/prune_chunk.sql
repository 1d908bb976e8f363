-- Only here: a step of prune.sql on SQLite.
-- Some pages of one day of history: what is in them, and away with the rows that are past their time, as
-- many as may go at once, and with their payloads and logs. The rule of a row is looked up once for each (state,
-- queue, kind), however many rules there are. A row that somebody else takes meanwhile is not ours.
-- No join whose sides the planner could misjudge: nobody has analysed the day's table perhaps.
-- $1 the day's start · $2 its end · $3 from this ctid, as text · $4 to below this · $5 most rows
-- $6 most bytes · $7 only rows whose payload lies aside · $8 now, of a test's clock
with clock as materialized (
    select coalesce($8::timestamptz, now()) as now),
seen as materialized (
    select h.ctid as t, h.id, h.state, h.queue, h.kind, h.retain_ms, h.finished_at,
        h.payload is null as aside, coalesce(pg_column_size(h.output), 0) as bytes
    from longshore.history h
    where h.finished_at >= $1::timestamptz and h.finished_at < $2::timestamptz
      and h.ctid >= $3::text::tid and h.ctid < $4::text::tid),
keeps as materialized (
    select d.state, d.queue, d.kind, coalesce((
        select coalesce(r.keep_ms, -1) from longshore.retention r
        where (r.kind is null or r.kind = d.kind) and (r.queue is null or r.queue = d.queue)
          and (r.state is null or r.state = d.state)
        order by r.kind is null, r.queue is null, r.state is null
        limit 1), 604800000) as keep_ms
    from (select distinct s.state, s.queue, s.kind from seen s) d),
spans as materialized (
    select s.t, s.id, s.state, s.aside, s.finished_at, s.bytes,
        case when coalesce(s.retain_ms, k.keep_ms) >= 0
            then least(coalesce(s.retain_ms, k.keep_ms), 3162240000000) * interval '1 millisecond'
        end as span
    from seen s join keeps k on k.kind = s.kind and k.queue = s.queue and k.state = s.state),
timed as materialized (
    select s.t, s.id, s.state, s.aside, s.bytes, s.finished_at, s.span, s.finished_at + s.span as due_at,
        coalesce(s.finished_at + s.span <= c.now, false) as past
    from spans s, clock c),
ranked as materialized (
    select t.t, t.id, t.aside, t.bytes, row_number() over (order by t.t) as nth
    from timed t
    where t.past and (t.aside or not $7::bool)),
goes as materialized (
    select r.t, sum(r.bytes) over (order by r.t) - r.bytes as before
    from (
        select k.t, 1000 + k.bytes + case when k.aside then coalesce((
            select pg_column_size(p.payload) from longshore.payload p where p.id = k.id), 0) else 0 end
            + coalesce((select sum(l.bytes) from longshore.log l where l.id = k.id), 0)::bigint as bytes
        from ranked k
        where k.nth <= $5::bigint) r),
-- What goes are the first rows of the chunk, up to this one.
edge as materialized (
    select max(g.t) as t from goes g where g.before < $6::bigint),
gone as (
    delete from longshore.history h
    where h.finished_at >= $1::timestamptz and h.finished_at < $2::timestamptz
      and h.ctid = any(array(select g.t from goes g where g.before < $6::bigint))
    returning h.id, h.state, h.payload is null as aside),
dropped as (
    delete from longshore.payload p
    where p.id = any(array(select g.id from gone g where g.aside))),
unsaid as (
    delete from longshore.progress p
    where p.id = any(array(select g.id from gone g))),
unlogged as (
    delete from longshore.log l
    where l.id = any(array(select g.id from gone g))),
stays as materialized (
    select t.due_at, t.past, t.aside
    from timed t, edge e
    where not (t.past and (t.aside or not $7::bool) and coalesce(t.t <= e.t, false)))
select (select count(*) from stays) as rows,
    (select count(*) from gone where state = 'succeeded') as succeeded,
    (select count(*) from gone where state = 'cancelled') as cancelled,
    (select count(*) from timed t where t.past and t.state = 'succeeded') as old_succeeded,
    (select count(*) from timed t where t.past and t.state = 'cancelled') as old_cancelled,
    (select min(s.due_at) from stays s) as earliest,
    (select case when count(*) = count(s.due_at) then max(s.due_at) end from stays s) as latest,
    (select count(*) from stays s where s.aside and s.past) as aside,
    (select max(t.finished_at) from timed t) as newest,
    (select (extract(epoch from min(t.span)) * 1000000)::bigint from timed t) as shortest,
    (select min(t.due_at) from timed t where t.past) as found
