-- Only here: SQLite waits as long as `busy_for` says. Ends with the transaction.
select set_config('lock_timeout', '2s', true)
