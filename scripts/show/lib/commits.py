"""How many rows a second one connection commits one by one to a SQLite file, as durably as Longshore writes it."""
import sqlite3
import sys
import time

path, seconds = sys.argv[1], float(sys.argv[2])
db = sqlite3.connect(path, isolation_level=None)
db.execute("pragma journal_mode = wal")
db.execute("pragma synchronous = full")
db.execute("create table t (id integer primary key, note text) strict")
began, count = time.monotonic(), 0
while time.monotonic() - began < seconds:
    db.execute("insert into t (note) values (?)", ("x" * 100,))
    count += 1
print(round(count / (time.monotonic() - began)))
