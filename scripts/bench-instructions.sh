#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 the HTTPCacheEngine authors

# Counts the instructions and the allocations of one operation of each kind, and compares them with the limits of
# Benchmarks/limits.txt. With --write it replaces them with what is measured.
#
# Counts are the same on a busy machine and on an idle one, which times are not. From run to run they differ by a few
# thousandths, for hashes have a random seed and threads meet; from compiler to compiler by more. So the limits hold for one
# compiler on one architecture, which the file names. With another, the script only reports.
set -eu
cd "$(dirname "$0")/.."
case "${SCRATCH:-}" in
  "") scratch=$PWD/Benchmarks/.build ;;
  /*) scratch=$SCRATCH/instructions ;;
  *) scratch=$PWD/$SCRATCH/instructions ;;
esac
cd Benchmarks
runs=1000
# What a limit is above what was measured, in percent.
margin=5

# Valgrind gives up on the debug information of Swift.
HTTPCACHE_COUNTS_ONLY=1 "${SWIFT:-swift}" build -c release --scratch-path "$scratch" -debug-info-format none --product count
count=$scratch/release/count

compiler="Swift $("${SWIFT:-swift}" --version 2>/dev/null | sed -n 's/.*Swift version \([0-9.]*\).*/\1/p'), $(uname -m)"
known=$(sed -n 's/^# counted with //p' limits.txt)
binding=1
if [ "$known" != "$compiler" ]; then
  binding=0
  echo "The limits are of $known, and this is $compiler: an operation above its limit is reported, and does not fail."
fi

results=$(mktemp -d)
new=$(mktemp)
trap 'rm -rf "$results" "$new"' EXIT
export SWIFT_DETERMINISTIC_HASHING=1

# Counts the instructions of operations, in one process: to start one under valgrind takes two seconds of processor time.
count_all() { # FILE COLLECT OPERATION…
  file=$1 collect=$2
  shift 2
  # The program switches counting on when everything is prepared, and has the counts written after each operation.
  # shellcheck disable=SC2086
  valgrind --tool=callgrind --callgrind-out-file="$results/$file" --instr-atstart=no "$collect" \
    "$count" "$runs" "$@" >"$results/$file.log" 2>&1 || return 0
  awk '/^desc: Trigger: Client Request:/ { name = $NF } /^totals:/ { print name, $2 }' \
    "$results/$file".* >"$results/$file.counts"
}

proxy=$("$count" | grep '^proxy-')
# The random seed of a store decides how full each shard is: eleven runs of evict-lru took 2,922 to 3,184 instructions. What
# costs more does so with each seed.
others=$("$count" | awk '!/^proxy-/ { print } /^evict/ { print; print }')
# Both at a time: counts do not depend on it. Those of the proxy are of all threads: the event loop does the work.
# shellcheck disable=SC2086
count_all proxy --collect-atstart=yes $proxy &
# shellcheck disable=SC2086
count_all others --toggle-collect=call_measured $others
wait
# shellcheck disable=SC2086
"$count" "$runs" $others $proxy >"$results/allocations"
awk -v runs="$runs" '
  FILENAME ~ /counts$/ { if (!($1 in fewest) || $2 < fewest[$1]) fewest[$1] = $2; next }
  $1 in fewest { printf "%s %.0f %s\n", $1, fewest[$1] / runs, $2; delete fewest[$1] }' \
  "$results/proxy.counts" "$results/others.counts" "$results/allocations" >"$results/all"

{
  echo "# operation, at most so many instructions, at most so many allocations: see Documentation/Benchmarks.md"
  echo "# counted with $compiler"
} >"$new"
printf '%-22s %12s %8s %12s %8s\n' operation instructions limit allocations limit
failed=0
for operation in $("$count"); do
  counted=$(awk -v name="$operation" '$1 == name { print $2, $3 }' "$results/all")
  [ -n "$counted" ] || {
    echo "$operation was not counted." >&2
    cat "$results"/*.log >&2
    exit 1
  }
  instructions=${counted% *}
  allocations=${counted#* }
  limits=$(awk -v name="$operation" '$1 == name { print $2, $3 }' limits.txt)
  limit=${limits% *}
  allowed=${limits#* }
  note=
  # "?" where malloc cannot be counted.
  if [ "${1:-}" != --write ]; then
    note=$(awk -v i="$instructions" -v l="${limit:-0}" -v a="$allocations" -v b="${allowed:-0}" 'BEGIN {
      if (i + 0 == 0) print "  not counted"
      else if (l + 0 == 0) print "  has no limit: make bench-limits"
      else if (i > l + 0 || (a != "?" && a > b + 0)) print "  TOO MANY"
    }')
    case $note in
      "") ;;
      # How many inserts the thread that writes finds at a time depends on the machine.
      *MANY) [ "$binding" = 0 ] || [ "$operation" = disk-insert ] || failed=1 ;;
      *) failed=1 ;;
    esac
  fi
  printf '%-22s %12s %8s %12s %8s%s\n' "$operation" "$instructions" "${limit:--}" "$allocations" "${allowed:--}" "$note"
  awk -v name="$operation" -v i="$instructions" -v a="$allocations" -v margin="$margin" \
    'BEGIN {
      # A fraction is of what grows now and then, by a random seed, and over sockets a message may come in two parts. Any other
      # whole number is to stay what it is.
      if (a != "?" && (a != int(a) || name ~ /^proxy-/)) a = sprintf("%.2f", a * (100 + margin) / 100)
      printf "%s %d %s\n", name, i * (100 + margin) / 100 + 1, a
    }' >>"$new"
done
if [ "${1:-}" = --write ]; then
  cp "$new" limits.txt
  echo "Wrote Benchmarks/limits.txt."
fi
[ "$failed" = 0 ] || echo "An operation costs more than its limit. Find out why; 'make bench-limits' writes new limits." >&2
exit $failed
