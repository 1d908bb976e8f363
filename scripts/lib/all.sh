# shellcheck shell=bash
# What the scripts share. Each starts with `source .../lib/all.sh`; nothing in this folder is run by itself.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export PATH=$root/target/tools/bin:$PATH # what setup-tests installed goes first

say() { printf '%s\n' "$*"; }

# shellcheck source=scripts/lib/run.sh
source "$root/scripts/lib/run.sh" # commands, signals, time
# shellcheck source=scripts/lib/work.sh
source "$root/scripts/lib/work.sh" # the temporary folder, and that nothing in it outlives the script
# shellcheck source=scripts/lib/need.sh
source "$root/scripts/lib/need.sh" # what must be installed
# shellcheck source=scripts/lib/postgres.sh
source "$root/scripts/lib/postgres.sh"
# shellcheck source=scripts/lib/pgbouncer.sh
source "$root/scripts/lib/pgbouncer.sh"
