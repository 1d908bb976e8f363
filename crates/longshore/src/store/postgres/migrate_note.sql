-- Only here: on SQLite the runner holds these few words itself.
-- $1 version · $2 name · $3 checksum
insert into longshore.migration (version, name, checksum) values ($1::int, $2::text, $3::text)
