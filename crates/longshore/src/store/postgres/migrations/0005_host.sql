-- Twin of sqlite/migrations/0005_host.sql. Differs: nothing to do, since any number of hosts may use one
-- database here; the numbers of both schemas go together.
select 1;
