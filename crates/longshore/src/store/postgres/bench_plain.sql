-- Only here: SQLite has no COPY.
-- What a bare COPY is measured on. Pages are filled, as they are in a table that nothing is known of.
drop table if exists longshore.bench_plain;
create table longshore.bench_plain (like longshore.job including all);
