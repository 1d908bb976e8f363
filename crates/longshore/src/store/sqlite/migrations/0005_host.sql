-- Twin of postgres/migrations/0005_host.sql. Differs: there it does nothing. A file belongs to one host: a
-- node says which is its own, and when it was last heard of, so that another host can tell a live node.

ALTER TABLE longshore_node ADD COLUMN host TEXT;        -- NULL: an older program's, which does not say
ALTER TABLE longshore_node ADD COLUMN seen_at INTEGER;  -- the last heartbeat
