-- Only here: on SQLite the runner holds these few words itself.
-- Has any migration been applied?
select to_regclass('longshore.migration') is not null
