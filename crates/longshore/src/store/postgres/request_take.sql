-- Only here: a step of request.sql on SQLite.
-- A row if the key is ours now; waits for whoever is about to take it. Each new one takes two away that are too
-- old, so there are never many.
-- $1 key · $2 fingerprint · $3 now, of a test's clock · $4 kept so long, µs
with clock as (
    select coalesce($3::timestamptz, now()) as now,
        coalesce($3::timestamptz, now()) - $4::bigint * interval '1 microsecond' as old
), pruned as (
    delete from longshore.request where key in (
        select r.key from longshore.request r, clock c
        where r.at <= c.old and r.key <> $1::bytea
        order by r.at
        limit 2
        for update of r skip locked)
)
insert into longshore.request as r (key, fingerprint, at)
select $1::bytea, $2::bytea, now from clock
on conflict (key) do update set fingerprint = excluded.fingerprint, answer = null, at = excluded.at
where r.at <= (select old from clock)
returning true
