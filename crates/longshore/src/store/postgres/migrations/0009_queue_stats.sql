-- How deep each queue was when the leader last counted: one row each, so that nobody else has to count.

create table longshore.queue_stats (
    queue      text collate "C" primary key,
    depth      bigint not null,
    capped     boolean not null,               -- there were more
    oldest_at  timestamptz,                    -- since when the oldest was due; null: none waited
    counted_at timestamptz not null
) with (fillfactor = 50, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0);
