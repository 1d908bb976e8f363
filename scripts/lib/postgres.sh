# shellcheck shell=bash disable=SC2154 # what is not set here is set in the files beside this one
# A PostgreSQL server for one run: fresh, on a free port, gone afterwards.
pg_oldest=15
pg_bin=     # the folder of the newest server here
pg_newest=0 # its major version, also where that is too old
pg_port=

find_postgres() {
  local on_path dir major
  on_path=$(command -v postgres || true)
  # Debian keeps the server off PATH, so we look where it and others put it.
  for dir in "$(pg_config --bindir 2>/dev/null)" "${on_path%/*}" /usr/bin \
    /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /usr/libexec/postgresql* /usr/local/pgsql/bin \
    /opt/homebrew/opt/postgresql@*/bin /usr/local/opt/postgresql@*/bin \
    /Applications/Postgres.app/Contents/Versions/*/bin; do
    [[ -x $dir/postgres && -x $dir/initdb && -x $dir/pg_ctl && -x $dir/psql ]] || continue
    major=$("$dir/postgres" --version | sed -E 's/^[^0-9]*([0-9]+).*/\1/')
    [[ $major -le $pg_newest ]] || pg_newest=$major pg_bin=$dir
  done
  [[ $pg_newest -ge $pg_oldest ]]
}

start_postgres() {
  # A real language's order, as users' servers have it: a statement that needs the order of bytes and
  # does not say so shows here.
  as_server "$pg_bin/initdb" --pgdata="$work/data" --username=postgres --auth=trust --encoding=UTF8 \
    --locale=C --locale-provider=icu --icu-locale=en-US --no-sync >"$work/initdb.log" 2>&1 ||
    { cat "$work/initdb.log" >&2; exit 1; }
  # As durable as a real one, because figures come from it too.
  cat >>"$work/data/postgresql.conf" <<CONF
listen_addresses = '127.0.0.1'
unix_socket_directories = '$work'
max_connections = 200
fsync = on
synchronous_commit = on
shared_preload_libraries = 'pg_stat_statements'
CONF
  for _ in {1..5}; do
    pg_port=$(free_port)
    as_server "$pg_bin/pg_ctl" start --pgdata="$work/data" --log="$work/postgres.log" --wait \
      --options="-p $pg_port" >/dev/null 2>&1 && return
    grep -q 'Address already in use' "$work/postgres.log" || break
  done
  say "PostgreSQL did not start:" >&2
  cat "$work/postgres.log" >&2
  exit 1
}

# Nobody needs the data again, so nothing is saved on the way out.
stop_postgres() {
  [[ -e $work/data/postmaster.pid ]] || return 0
  as_server "$pg_bin/pg_ctl" stop --pgdata="$work/data" --mode=immediate --wait >/dev/null 2>&1 || true
}

pg_url() { echo "postgres://postgres@127.0.0.1:$1/postgres"; }
