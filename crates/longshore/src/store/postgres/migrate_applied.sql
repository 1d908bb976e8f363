-- Only here: on SQLite the runner holds these few words itself.
-- The migrations that were applied.
select version, checksum from longshore.migration order by version
