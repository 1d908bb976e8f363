# shellcheck shell=bash
# `$work`, the temporary folder of one run. Servers live in it, and end with it.
work=
keeper=
started=

make_work() {
  trap clean_up EXIT
  work=$(mktemp -d "${TMPDIR:-/tmp}/longshore.XXXXXX")
  # `initdb` and `pgbouncer` refuse root, so root gives the folder to the user they run as.
  [[ $EUID -ne 0 ]] || chown postgres: "$work"
  # No trap runs after `kill -9`. A keeper in a process group of its own notices and cleans up instead;
  # it holds none of our output open, so nobody who reads that waits for it.
  set -m
  (
    trap '' INT TERM HUP
    while kill -0 "$$"; do sleep 1; done
    stop_servers
    # What was half started goes on by itself for a while, and must not find its folder gone too early.
    for _ in {1..60}; do
      sleep 5
      ! empty_work || break
    done
  ) </dev/null >/dev/null 2>&1 &
  keeper=$!
  disown
  set +m
}

clean_up() {
  local status=$?
  trap '' INT TERM HUP # a second ctrl-C must not leave half of it behind
  if empty_work && [[ $keeper ]]; then # otherwise the keeper tries again
    kill -KILL -- "-$keeper" 2>/dev/null || true
  fi
  exit "$status"
}

empty_work() {
  [[ $work ]] || return 0
  stop_servers
  rm -rf -- "$work"
}

stop_servers() {
  stop_started
  stop_pgbouncer
  stop_postgres
}

# start LOG COMMAND...: in the background until it is told to end, at the latest until the script does.
# Its process id is in $started.
start() {
  "${@:2}" </dev/null >"$1" 2>&1 &
  started=$!
  echo "$started" >>"$work/started"
}

stop_started() {
  [[ -e $work/started ]] || return 0
  xargs kill -KILL <"$work/started" 2>/dev/null || true
  rm -f "$work/started" # nothing is stopped twice: by then the number may be another's
}

# as_server COMMAND...: as the user who owns the folder, and from inside it, because that user may not
# be allowed to enter ours. A signal waits until it is over: what is half started cannot be stopped.
# (Not `runuser`: that kills its command two seconds after a signal.)
as_server() (
  trap '' INT TERM HUP
  cd "$work" || exit
  [[ $EUID -ne 0 ]] || set -- setpriv --reuid=postgres --regid=postgres --init-groups "$@"
  exec "$@" </dev/null
)

# A port where nobody answers, below those the kernel hands to clients. It may be taken a moment later:
# then the server's start fails, and the caller asks again.
free_port() {
  local port
  while
    port=$((10000 + (RANDOM * 32768 + RANDOM) % 20000))
    (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null
  do :; done
  echo "$port"
}
