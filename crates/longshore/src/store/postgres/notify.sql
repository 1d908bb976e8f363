-- Only here: tells other nodes after our own commits. $1 what to say
select pg_notify('longshore', w.word) from unnest($1::text[]) w (word)
