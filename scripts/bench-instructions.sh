#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 the HTTPCacheEngine authors

# Counts the instructions and the allocations of one operation of each kind, and compares them with the limits of
# Benchmarks/limits.txt. With --write it replaces them with what is measured.
#
# Counts are the same on a busy machine and on an idle one, which times are not. They differ a little from run to run
# all the same, for the store's hashes have a random seed, and more from compiler to compiler.
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

for tool in valgrind strip; do
  command -v "$tool" >/dev/null 2>&1 || {
    echo "$tool is missing. Install it, then run this again: apt-get install valgrind binutils" >&2
    exit 1
  }
done

"${SWIFT:-swift}" build -c release --scratch-path "$scratch" --product count
# valgrind gives up on the debug information of Swift.
strip -g -o "$scratch/count" "$scratch/release/count"

log=$(mktemp)
new=$(mktemp)
trap 'rm -f "$log" "$new"' EXIT
echo "# operation, at most so many instructions, at most so many allocations: see Documentation/Benchmarks.md" >"$new"
printf '%-22s %12s %8s %12s %8s\n' operation instructions limit allocations limit
failed=0
export SWIFT_DETERMINISTIC_HASHING=1
for operation in $("$scratch/count"); do
  valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=call_measured \
    "$scratch/count" "$operation" "$runs" >"$log" 2>&1 || {
    cat "$log" >&2
    exit 1
  }
  instructions=$(awk -v runs="$runs" '/Collected/ { printf "%.0f", $NF / runs }' "$log")
  allocations=$("$scratch/count" "$operation" "$runs" | awk '{ print $2 }')
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
    [ -z "$note" ] || failed=1
  fi
  printf '%-22s %12s %8s %12s %8s%s\n' "$operation" "$instructions" "${limit:--}" "$allocations" "${allowed:--}" "$note"
  awk -v name="$operation" -v i="$instructions" -v a="$allocations" -v margin="$margin" \
    'BEGIN {
      # A fraction is of what grows now and then, by a random seed; a whole number is to stay what it is.
      if (a != "?" && a != int(a)) a = sprintf("%.2f", a * (100 + margin) / 100)
      printf "%s %d %s\n", name, i * (100 + margin) / 100 + 1, a
    }' >>"$new"
done
if [ "${1:-}" = --write ]; then
  cp "$new" limits.txt
  echo "Wrote Benchmarks/limits.txt."
fi
exit $failed
