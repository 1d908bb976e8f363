-- Only here: SQLite waits for its one lock in Rust.
-- How long this transaction may wait for a row that another one holds. $1 milliseconds, as text
select set_config('lock_timeout', $1::text, true)
