-- Only here: SQLite has no COPY, and needs none.
copy longshore.payload (id, payload) from stdin (format binary)
