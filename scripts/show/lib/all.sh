# shellcheck shell=bash disable=SC2034 # what is only set here is read by the proofs
# What the proofs share. Each prints figures beside their bars, ends in a line PASS or FAIL, and exits by it.
# shellcheck source=scripts/lib/all.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../lib/all.sh"
cd "$root"
failures=0
longshore= # the executable, once it is built
me=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")

find_python3() { command -v python3 >/dev/null; }

# beside_postgres "$@": starts the proof again beside a fresh server, unless there is one.
beside_postgres() { [[ ${LONGSHORE_TEST_DATABASE_URL:-} ]] || exec scripts/with-postgres "$me" "$@"; }

# begin: what is missing is installed, a folder is made, and from here on the last line is the verdict.
begin() {
  trap end EXIT
  need postgres python3
  make_work
  trap end EXIT # make_work has set its own, which `end` calls
}

end() {
  local status=$?
  [[ $status -ne 0 || $failures -eq 0 ]] || status=1
  if [[ $status -eq 0 ]]; then say PASS; else say FAIL; fi
  set +e
  (exit "$status")
  clean_up
}

# build: the executable as users have it.
build() {
  run cargo build --release --locked --quiet -p longshore-cli
  longshore=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)/release/longshore
}

# shown COMMAND...: runs it; what it prints is in $work/output too.
shown() { run "$@" 2>&1 | tee "$work/output"; }

# fresh_database sqlite|postgres NAME: an empty one for whatever runs next.
fresh_database() {
  case $1 in
    sqlite) LONGSHORE_DATABASE=sqlite:$work/$2.db ;;
    postgres)
      PGOPTIONS=--client-min-messages=warning "$pg_bin/psql" -XqAt "$LONGSHORE_TEST_DATABASE_URL" \
        -c "drop database if exists $2 with (force)" -c "create database $2"
      LONGSHORE_DATABASE=${LONGSHORE_TEST_DATABASE_URL%/*}/$2
      ;;
  esac
  export LONGSHORE_DATABASE
}

# serve NAME FLAGS...: a node that has joined; its process id is in $started.
serve() {
  local log=$work/$1-$RANDOM.log
  start "$log" "$longshore" serve --name "$@"
  wait_until 30 "node $1 joins" grep -q joined "$log" || { cat "$log" >&2; return 1; }
}

# ended PID: waits for the end of what `start` started; its exit code is in $exit_code.
ended() {
  wait_until 60 "process $1 ends" gone "$1" || kill -KILL "$1"
  wait "$1" 2>/dev/null && exit_code=0 || exit_code=$?
}
gone() { ! kill -0 "$1" 2>/dev/null; }

# wait_until SECONDS WHAT COMMAND...: asks again and again.
wait_until() {
  local until=$((SECONDS + $1)) what=$2
  shift 2
  until "$@"; do
    [[ $SECONDS -lt $until ]] || { say "Waited in vain until $what." >&2; return 1; }
    sleep 0.1
  done
}

# note WHAT FIGURE: a figure without a bar.
note() { printf '  %-48s %12s\n' "$1" "$2"; }

# check WHAT FIGURE OP BAR: OP is = < <= or >=. A figure that is no number fails.
check() {
  local verdict=ok
  awk -v f="$2" -v op="$3" -v bar="$4" 'BEGIN {
    if (f !~ /^-?[0-9]+([.][0-9]+)?$/) exit 1
    f += 0; bar += 0
    exit !(op == "=" ? f == bar : op == "<" ? f < bar : op == "<=" ? f <= bar : op == ">=" && f >= bar)
  }' || { verdict=FAILED; failures=$((failures + 1)); }
  printf '  %-48s %12s   bar %2s %-8s %s\n' "$1" "$2" "$3" "$4" "$verdict"
}

# same WHAT A B: passes if they are the same words.
same() {
  local verdict=ok
  [[ $2 == "$3" ]] || { verdict=FAILED; failures=$((failures + 1)); }
  printf '  %-48s %12s   %12s %s\n' "$1" "" "the same" "$verdict"
}

# fields KEY... <JSON: their values, one a line; `a.0` goes inside. What is not there prints as null.
fields() {
  python3 -c '
import json, sys
whole = json.load(sys.stdin)
for path in sys.argv[1:]:
    value = whole
    for key in path.split("."):
        value = value[int(key)] if isinstance(value, list) else (value or {}).get(key)
    print("null" if value is None else value)' "$@"
}

# yardstick: what pgbench makes of the server just now, in $yardstick; nothing where there is no pgbench.
yardstick() {
  local url=${LONGSHORE_TEST_DATABASE_URL%/*}/show_yardstick
  yardstick=
  [[ -x $pg_bin/pgbench ]] || return 0
  if ! "$pg_bin/psql" -XqAtc 'select' "$url" >/dev/null 2>&1; then
    "$pg_bin/psql" -XqAtc 'create database show_yardstick' "$LONGSHORE_TEST_DATABASE_URL"
    "$pg_bin/pgbench" -i -q -s 10 "$url" >/dev/null 2>&1
  fi
  yardstick=$("$pg_bin/pgbench" -n -N -c 8 -T 5 "$url" 2>/dev/null | sed -n 's/^tps = \([0-9]*\).*/\1/p')
}

# machine: where the figures come from.
machine() {
  say "$(nproc 2>/dev/null || sysctl -n hw.ncpu) cores, $("$pg_bin/postgres" --version), $(git rev-parse --short HEAD)"
}
