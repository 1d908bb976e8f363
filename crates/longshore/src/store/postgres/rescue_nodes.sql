-- Only here: a step of rescue.sql on SQLite.
-- The first statement of a rescue: nodes whose lease ran out, locked so that no claim of theirs is under
-- way any more; and nodes that only claims still name. What they hold is asked for by the next
-- statement, with a new snapshot: this one would miss a claim that commits while it waits.
-- $1 most of each · $2 now, of a test's clock
with expired as materialized (
    select id from longshore.node
    where lost_at is null and expires_at <= coalesce($2::timestamptz, now())
    order by id
    limit $1::bigint
    for update skip locked),
gone as materialized (
    select distinct c.node
    from longshore.claim c
    where not exists (select from longshore.node n where n.id = c.node)
    limit $1::bigint)
select e.id, true as known from expired e
union all
select g.node, false from gone g
