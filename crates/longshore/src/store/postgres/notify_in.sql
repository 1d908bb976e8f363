-- Only here: tells other nodes from inside a caller's transaction. A commit that notifies does not
-- share its flush with others, so one transaction in 50 ms does, of the whole database, and each
-- tries once. The others' jobs are found by the look that the hint starts, or by polling.
-- $1 what to say
select case
    when current_setting('longshore.told', true) is distinct from 'yes'
        and set_config('longshore.told', 'yes', true) = 'yes'
        and pg_try_advisory_xact_lock(
            hashtext('longshore.notify'),
            (floor(extract(epoch from clock_timestamp()) * 20)::bigint % 2147483647)::int)
    then pg_notify('longshore', $1::text)::text
end
