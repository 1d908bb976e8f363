-- Twin of postgres/migrations/0014_remote.sql: the same column.

ALTER TABLE longshore_node ADD COLUMN remote TEXT;
