# shellcheck shell=bash
# Runs commands so that a signal is heard at once, and says how long they took.

# `<&0` below needs something to copy.
true 2>/dev/null <&0 || exec </dev/null

# step NAME COMMAND...: the command, mostly a `run`, between two lines, the second with its time.
step() {
  local name=$1 from=$SECONDS status=0 outcome
  shift
  say "== $name"
  "$@" || status=$?
  outcome="$((SECONDS - from)) s"
  [[ $status -eq 0 ]] || outcome="failed with exit code $status after $outcome"
  say "== $name: $outcome"
  return "$status"
}

# run COMMAND...: bash acts on a signal only when the command in the foreground is over, which may be
# long after we were told to stop. So the command runs in the background, gets every signal that we
# get, and is waited for; then the script ends, having been told to.
run() {
  local child='' status=0 heard interrupted=''
  trap 'pass_on INT 130' INT
  trap 'pass_on TERM 143' TERM
  trap 'pass_on HUP 129' HUP
  # Bash makes background commands deaf to ctrl-C and takes their input away; both are given back.
  (trap - INT QUIT; exec "$@") <&0 &
  child=$!
  [[ -z $interrupted ]] || kill "$child" 2>/dev/null || true
  while
    heard=
    wait "$child" && status=0 || status=$?
    [[ $heard ]] # a wait that a signal cut short says nothing about the command
  do :; done
  [[ -z $interrupted ]] || exit "$interrupted"
  exit_on_signals
  return "$status"
}

pass_on() {
  heard=1 interrupted=$2
  [[ -z $child ]] || kill -"$1" "$child" 2>/dev/null || true
}

# Outside `run` a signal ends the script after the command in the foreground, and the trap on EXIT cleans up.
exit_on_signals() {
  trap 'exit 130' INT
  trap 'exit 143' TERM
  trap 'exit 129' HUP
}
exit_on_signals
