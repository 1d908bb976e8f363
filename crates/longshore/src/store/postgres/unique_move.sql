-- Only here: a step of enqueue.sql on SQLite.
-- Gives keys, which this transaction has locked, to other jobs; a holder that runs is told so.
-- $1 scopes · $2 keys, as stored · $3 jobs they go to · $4 holders · $5 fingerprints or null
with moved as (
    update longshore.unique_key u
    set job_id = m.id, fingerprint = m.fingerprint
    from unnest($1::text[], $2::text[], $3::uuid[], $4::uuid[], $5::bytea[]) m (scope, key, id, holder, fingerprint)
    where u.scope = m.scope and u.key = m.key and u.job_id = m.holder
    returning m.id, m.holder)
update longshore.job j
set superseded_by = m.id
from moved m
where j.id = m.holder
