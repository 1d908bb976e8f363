-- The migrations that were applied.
select version, checksum from longshore.migration order by version
