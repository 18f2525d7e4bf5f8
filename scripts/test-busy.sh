#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 the HTTPCacheEngine authors

# Runs the unit and integration tests, already built, on a machine that is short of processor time, and says which tests failed
# and how often: ROUNDS times (default: 5) beside three busy processes, and once on one processor.
#
# A test that fails here depends on time that it may not get. Find the cause; do not raise a limit.
set -uo pipefail
cd "$(dirname "$0")/.."

rounds=${ROUNDS:-5}
[[ $rounds =~ ^[1-9][0-9]*$ ]] || { echo "ROUNDS=$rounds: expected a number of at least 1" >&2; exit 2; }
log=$(mktemp)
busy=()
end_busy() { for process in ${busy[@]+"${busy[@]}"}; do kill "$process" 2>/dev/null; done; busy=(); }
trap 'end_busy; rm -f "$log"' EXIT

status=0
round() { # NAME COMMAND…
  echo "== $1"
  "${@:2}" bash scripts/test.sh unit integration 2>&1 | tee -a "$log"
  [ "${PIPESTATUS[0]}" -eq 0 ] || status=1
  # A reader of the whole output sees to which round a failure belongs.
  echo "== $1 ended" >>"$log"
}

for number in $(seq "$rounds"); do
  for _ in 1 2 3; do
    (while :; do :; done) &
    busy+=($!)
  done
  round "round $number of $rounds, beside three busy processes" env
  end_busy
done
if command -v taskset >/dev/null; then
  round "one processor" taskset -c 0
else
  echo "== one processor: left out, as there is no taskset"
fi

echo
echo "Failures in all rounds:"
perl -ne '
  while (/✘ Test (?!run |case )(.+?)(?: with \d+ test cases?)? failed after/g) { $count{$1}++ }
  $count{$1}++ if /^(✘ Test run of .*)/;
  END {
    printf "  %3d  %s\n", $count{$_}, $_ for sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
    print "  none\n" unless %count;
  }' "$log"
grep -E '^Totals: ' "$log"
exit "$status"
