# shellcheck shell=bash disable=SC2154 # what is not set here is set in the files beside this one
# need postgres [pgbouncer]: finds them. As root on Debian what is missing is installed; elsewhere the
# one command to run is printed, and the exit code is 3.
need() {
  local missing
  look_for "$@" && return
  if [[ $EUID -eq 0 ]] && command -v apt-get >/dev/null; then
    # The package `postgresql` brings the newest server that the system has.
    install_packages "${missing[@]/%postgres/postgresql}" || true # what came of it is looked at next
    look_for "$@" && return
  fi
  say_how_to_install "${missing[@]}" >&2
  exit 3
}

look_for() {
  local what
  missing=()
  for what; do "find_$what" || missing+=("$what"); done
  [[ ${#missing[@]} -eq 0 ]]
}

# The programs and nothing else: no cluster, no service, neither now nor when the machine starts again.
install_packages() (
  log=$(mktemp)
  policy=/usr/sbin/policy-rc.d
  conf=/etc/postgresql-common/createcluster.conf
  trap 'rm -f "$log" "${ours:-}"' EXIT
  say "Installing $*"
  if ! grep -qs '^ *create_main_cluster *= *false' "$conf"; then
    mkdir -p "${conf%/*}"
    echo 'create_main_cluster = false' >>"$conf"
  fi
  if [[ ! -e $policy ]]; then
    ours=$policy
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
  fi
  export DEBIAN_FRONTEND=noninteractive
  {
    apt-get update
    apt-get install --yes --no-install-recommends -o DPkg::Lock::Timeout=120 "$@" &&
      if [[ " $* " == *' pgbouncer '* ]]; then update-rc.d pgbouncer disable; fi
  } </dev/null >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
)

say_how_to_install() {
  local sudo='sudo ' tool packages=''
  [[ $EUID -ne 0 ]] || sudo=
  say "Missing: $*."
  if [[ $pg_newest -gt 0 && $pg_newest -lt $pg_oldest ]]; then
    say "PostgreSQL $pg_newest is too old, $pg_oldest is the oldest that will do: https://www.postgresql.org/download/"
    return
  fi
  for tool in apt-get dnf brew; do
    command -v "$tool" >/dev/null || continue
    case $tool in
      apt-get) packages=${*/%postgres/postgresql} ;;
      dnf) packages=${*/%postgres/postgresql-server postgresql-contrib} ;;
      brew) packages=${*/%postgres/postgresql@17} sudo= ;;
    esac
    say "Run this, then try again:"
    say "  $sudo$tool install $packages"
    return
  done
  say "Install PostgreSQL $pg_oldest or newer and PgBouncer, then try again: https://www.postgresql.org/download/"
}
