-- Only here: tells other nodes from inside a caller's transaction. A commit that notifies does not share
-- its flush with others, so `tell`, which the migrations make, lets one of the transactions that are open
-- at a time do so, and each tries once. The others' jobs are found by the look that the hint starts, or
-- by polling.
-- $1 what to say
select longshore.tell($1::text)
