-- The version of each payload, and which of its fields nobody is shown. Both defaults are constants, so no row is
-- touched. history comes first: while its days are locked one by one, claims and enqueues go on.
-- docs/adr/0016-payload-versions.md says why.

alter table longshore.history
    add column payload_version int not null default 1,
    add column redacted        text[];                 -- fields of the payload; null: none
alter table longshore.job
    add column payload_version int not null default 1,
    add column redacted        text[];

-- A day that a prune has taken out, wholly or half, may have to come back, and fits then only with all columns.
do $$
declare
    day record;
begin
    for day in
        select c.relname as name, i.inhrelid is not null as half
        from pg_class c
            left join pg_inherits i on i.inhrelid = c.oid and i.inhdetachpending
        where c.relnamespace = 'longshore'::regnamespace and c.relkind = 'r' and c.relname ~ '^history_[0-9]{8}$'
          and (not c.relispartition or i.inhrelid is not null)
    loop
        if day.half then
            execute format('alter table longshore.history detach partition longshore.%I finalize', day.name);
        end if;
        execute format(
            'alter table longshore.%I add column payload_version int not null default 1, add column redacted text[]',
            day.name);
    end loop;
end
$$;

-- Two more options at the end are another signature. The rest is as in 0004.
drop function longshore.enqueue(text, json, text, int, timestamptz, text, int, text[], json, interval, boolean, text,
    interval, interval, uuid);

create function longshore.enqueue(
    kind text,
    payload json,
    queue text default 'default',
    priority int default 5,
    run_at timestamptz default null,
    unique_key text default null,
    max_attempts int default 10,
    tags text[] default '{}',
    meta json default null,
    unique_within interval default null,
    unique_for_good boolean default false,
    on_conflict text default 'keep',
    timeout interval default '1 hour',
    retain interval default null,
    id uuid default null,
    payload_version int default 1,
    redacted text[] default '{}')
    returns uuid
    language plpgsql
    security invoker
    set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    job_kind text collate "C" := enqueue.kind;
    job_queue text collate "C" := coalesce(enqueue.queue, 'default');
    job_priority int := coalesce(enqueue.priority, 5);
    job_attempts int := coalesce(enqueue.max_attempts, 10);
    job_payload json := coalesce(enqueue.payload, 'null');
    rule text collate "C" := coalesce(enqueue.on_conflict, 'keep');
    for_good boolean := coalesce(enqueue.unique_for_good, false);
    job_version int := coalesce(enqueue.payload_version, 1);
    job_tags text[];
    job_redacted text[];
    tag text;
    field text;
    timeout_ms bigint;
    retain_ms bigint;
    within_ms bigint;
    aside boolean;
    -- Not the statement's time: a loop in one statement enqueues in its order, and a long one is not late.
    at timestamptz := clock_timestamp();
    at_us bigint := extract(epoch from at) * 1000000;
    due timestamptz := coalesce(enqueue.run_at, at);
    new_id uuid := enqueue.id;
    key_scope text collate "C";
    stored text collate "C";
    held record;
    alive boolean;
    locked uuid;
    overtaken boolean;
begin
    perform longshore.check_name('kind', job_kind);
    perform longshore.check_name('queue', job_queue);
    if job_priority not between 0 and 9 then
        raise exception using
            errcode = '22023', message = format('priority is %s; it may be 0 to 9', job_priority);
    end if;
    if job_attempts not between 1 and 1000000000 then
        raise exception using
            errcode = '22023', message = format('max_attempts is %s; it may be 1 to 1000000000', job_attempts);
    end if;
    if due < timestamptz '0001-01-01 00:00:00+00 BC' or due >= timestamptz '10000-01-01 00:00:00+00' then
        raise exception using
            errcode = '22023',
            message = 'run_at is outside 0000-01-01T00:00:00Z to 9999-12-31T23:59:59.999999Z';
    end if;
    timeout_ms := longshore.check_span('timeout', enqueue.timeout, 1);
    retain_ms := longshore.check_span('retain', enqueue.retain, 0);
    if cardinality(enqueue.tags) > 64 then
        raise exception using
            errcode = '22023',
            message = format('tags has %s entries; the limit is 64', cardinality(enqueue.tags));
    elsif cardinality(enqueue.tags) > 0 then
        foreach tag in array enqueue.tags loop
            perform longshore.check_name('tags', tag);
            job_tags := job_tags || tag;
        end loop;
    end if;
    if job_version < 1 then
        raise exception using
            errcode = '22023', message = format('payload_version is %s; it may be 1 to 2147483647', job_version);
    end if;
    if cardinality(enqueue.redacted) > 64 then
        raise exception using
            errcode = '22023',
            message = format('redacted has %s entries; the limit is 64', cardinality(enqueue.redacted));
    elsif cardinality(enqueue.redacted) > 0 then
        foreach field in array enqueue.redacted loop
            perform longshore.check_name('redacted', field);
            job_redacted := job_redacted || field;
        end loop;
    end if;
    if enqueue.unique_key is not null then
        perform longshore.check_name('unique_key', enqueue.unique_key);
        within_ms := longshore.check_span('unique_within', enqueue.unique_within, 1);
        if within_ms is not null and for_good then
            raise exception using
                errcode = '22023', message = 'unique_within and unique_for_good are both given; a key is held in one way';
        end if;
    elsif enqueue.unique_within is not null or for_good or rule <> 'keep' then
        raise exception using
            errcode = '22023',
            message = 'unique_within, unique_for_good and on_conflict say how a unique_key is held, but none is given';
    end if;
    if rule not in ('keep', 'replace', 'refuse') then
        raise exception using
            errcode = '22023',
            message = format('on_conflict is `%s`; it may be keep, replace or refuse', longshore.shown(left(rule, 64)));
    end if;
    perform longshore.check_json('payload', job_payload,
        coalesce(nullif(current_setting('longshore.payload_bytes', true), ''), '1048576')::bigint);
    if enqueue.meta is not null then
        perform longshore.check_json('meta', enqueue.meta, 65536);
        if json_typeof(enqueue.meta) <> 'object' then
            raise exception using errcode = '22023', message = 'meta is not a JSON object';
        end if;
    end if;
    aside := octet_length(job_payload::text) > 2000;

    if new_id is null then
        -- A UUID of version 7: milliseconds, then 12 bits of what is left of them, then chance.
        new_id := lpad(to_hex(at_us / 1000), 12, '0') || '7' || lpad(to_hex((at_us % 1000) * 4096 / 1000), 3, '0')
            || right(translate(gen_random_uuid()::text, '-', ''), 16);
    elsif exists (select from longshore.job j where j.id = new_id)
        or exists (select from longshore.history h where h.id = new_id)
    then
        -- A repeat keeps the answer it had, whoever holds its key now.
        return new_id;
    end if;

    if enqueue.unique_key is not null then
        key_scope := 'kind:' || job_kind;
        stored := longshore.unique_text(enqueue.unique_key, within_ms, for_good, due);
        for round in 1..50 loop
            overtaken := false;
            if rule <> 'replace' then
                held := longshore.take_key(key_scope, stored, new_id, at);
                alive := exists (select from longshore.job j where j.id = held.holder and j.dead_at is null);
                exit;
            end if;
            -- The holder's row is locked before the key: that order holds everywhere.
            locked := null;
            select j.id into locked
            from longshore.job j
            where j.dead_at is null and j.id = (
                select u.job_id from longshore.unique_key u where u.scope = key_scope and u.key = stored)
            for update;
            begin
                held := longshore.take_key(key_scope, stored, new_id, at);
                alive := exists (select from longshore.job j where j.id = held.holder and j.dead_at is null);
                if alive and held.holder is distinct from locked then
                    raise exception using errcode = 'LS001';
                end if;
            exception when sqlstate 'LS001' then
                -- Another job got the key after we locked. The key is let go again; once more from the start.
                overtaken := true;
            end;
            exit when not overtaken;
        end loop;
        if overtaken then
            raise exception using
                errcode = '55P03',
                message = 'could not enqueue: a unique key is held by a transaction that is still open';
        end if;
        if held.holder <> new_id then
            if alive or not held.while_active then
                if rule = 'refuse' then
                    raise exception using
                        errcode = '23505',
                        message = format('unique key `%s` is held by job %s',
                            longshore.shown(enqueue.unique_key), held.holder);
                elsif rule = 'keep' or not alive then
                    return held.holder;
                end if;
                update longshore.job j
                set run_at = due, priority = job_priority, version = j.version + 1,
                    payload_version = job_version, redacted = job_redacted,
                    payload = case when not aside then job_payload end
                where j.id = held.holder and j.node is null and j.dead_at is null
                  and (j.blocked_on = 0 or enqueue.run_at is not null);
                if found then
                    if aside then
                        insert into longshore.payload (id, payload) values (held.holder, job_payload)
                        on conflict (id) do update set payload = excluded.payload;
                    else
                        delete from longshore.payload p where p.id = held.holder;
                    end if;
                    perform longshore.tell('start');
                    return held.holder;
                end if;
            end if;
            -- The holder is gone without having given the key back, or runs and is to be replaced.
            update longshore.unique_key u
            set job_id = new_id, fingerprint = null
            where u.scope = key_scope and u.key = stored and u.job_id = held.holder;
            update longshore.job j set superseded_by = new_id where j.id = held.holder;
        end if;
    end if;

    insert into longshore.job (id, kind, queue, priority, run_at, created_at, max_attempts, timeout_ms, retain_ms,
        tags, meta, payload, unique_key, payload_version, redacted)
    values (new_id, job_kind, job_queue, job_priority, due, at, job_attempts, timeout_ms, retain_ms,
        job_tags, enqueue.meta, case when not aside then job_payload end, stored, job_version, job_redacted)
    on conflict (id) do nothing;
    if not found then
        return new_id;
    end if;
    if enqueue.id is not null and exists (select from longshore.history h where h.id = new_id) then
        -- The insert waited for its first life, which has ended meanwhile. forget.sql says the same.
        delete from longshore.job j where j.id = new_id;
        delete from longshore.unique_key u
        where u.scope = 'kind:' || job_kind and u.key = stored and u.job_id = new_id and u.until is null;
        return new_id;
    end if;
    if aside then
        insert into longshore.payload (id, payload) values (new_id, job_payload) on conflict (id) do nothing;
    end if;
    if due <= at then
        -- Below where other nodes' low-water marks may stand, they look from the start.
        perform longshore.tell(case when due < at - interval '1 second' then 'start' else 'look' end);
    end if;
    return new_id;
end
$$;

comment on function longshore.enqueue is
    'Enqueues a job in this transaction and answers its id, or that of the job that holds its unique_key.';

-- All jobs, wherever they are. The state is the one of get.sql. A payload with fields that nobody is shown is left
-- out: the database does not look into it. New columns come at the end, so that the view keeps its grants.
create or replace view longshore.jobs as
select j.id, j.kind, j.queue,
    case
        when j.dead_at is not null then 'dead'
        when j.node is not null then 'running'
        when j.blocked_on > 0 then 'blocked'
        when j.run_at > now() then case when j.attempt > 0 then 'retrying' else 'scheduled' end
        else 'queued'
    end as state,
    j.priority, j.attempt, j.max_attempts, j.run_at, j.created_at, j.leased_at, j.dead_at as finished_at,
    case when j.redacted is null then
        coalesce(j.payload, (select p.payload from longshore.payload p where p.id = j.id)) end as payload,
    null::json as output, coalesce(array_to_json(j.errors), '[]') as errors, coalesce(j.tags, '{}') as tags,
    j.meta, split_part(j.unique_key, chr(31), 1) as unique_key, j.node, j.cancel_at, j.cancel_by, j.cancel_why,
    j.payload_version, coalesce(j.redacted, '{}') as redacted
from longshore.job j
union all
select h.id, h.kind, h.queue, h.state, h.priority, h.attempt, h.max_attempts, h.run_at, h.created_at, h.leased_at,
    h.finished_at,
    case when h.redacted is null then
        coalesce(h.payload, (select p.payload from longshore.payload p where p.id = h.id)) end,
    h.output, coalesce(array_to_json(h.errors), '[]'), coalesce(h.tags, '{}'),
    h.meta, split_part(h.unique_key, chr(31), 1), h.node, h.cancel_at, h.cancel_by, h.cancel_why,
    h.payload_version, coalesce(h.redacted, '{}')
from longshore.history h;
