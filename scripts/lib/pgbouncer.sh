# shellcheck shell=bash disable=SC2154 # what is not set here is set in the files beside this one
# A PgBouncer in front of our server, also for one run.
bouncer=
bouncer_port=

find_pgbouncer() {
  local file
  # Debian puts it where only root's PATH leads.
  for file in "$(command -v pgbouncer)" /usr/sbin/pgbouncer /usr/local/sbin/pgbouncer /opt/homebrew/bin/pgbouncer; do
    [[ -x $file ]] && bouncer=$file && return
  done
  return 1
}

start_pgbouncer() {
  echo '"postgres" ""' >"$work/users.txt"
  for _ in {1..5}; do
    bouncer_port=$(free_port)
    # The pool is small so that clients soon share a connection: whatever a session keeps, shows.
    # Idle connections go quickly, or each test's database would hold on to two until the server is full.
    cat >"$work/pgbouncer.ini" <<CONF
[databases]
* = host=127.0.0.1 port=$pg_port
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $bouncer_port
unix_socket_dir =
pidfile = $work/pgbouncer.pid
logfile = $work/pgbouncer.log
auth_type = trust
auth_file = $work/users.txt
admin_users = postgres
pool_mode = transaction
default_pool_size = 2
server_idle_timeout = 5
max_client_conn = 1000
ignore_startup_parameters = extra_float_digits
log_connections = 0
log_disconnections = 0
CONF
    as_server "$bouncer" --daemon --quiet "$work/pgbouncer.ini" >/dev/null 2>&1 || true
    reaches_our_server && return
  done
  say "PgBouncer did not start:" >&2
  cat "$work/pgbouncer.log" >&2
  exit 1
}

# It goes into the background before it has its port. Asking for the server's port tells ours from the
# one of another run that was quicker.
reaches_our_server() {
  for _ in {1..30}; do
    [[ $("$pg_bin/psql" -XAtc 'show port' "$(pg_url "$bouncer_port")" 2>/dev/null) != "$pg_port" ]] || return 0
    sleep 0.1
  done
  return 1
}

# Newer ones take TERM as "when everybody has left"; there is nothing to save, so nobody is asked.
stop_pgbouncer() {
  [[ ! -e $work/pgbouncer.pid ]] || kill -KILL "$(<"$work/pgbouncer.pid")" 2>/dev/null || true
}
