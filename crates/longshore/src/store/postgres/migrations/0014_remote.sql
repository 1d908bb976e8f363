-- Nodes that work over a server: all that would be in a process of ours is in their row.

alter table longshore.node
    add column remote json;            -- lease_ms, and kinds with the greatest version each; null: a process of ours
