#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 the HTTPCacheEngine authors

# `swift test` with all traits and the arguments given. When it fails, its last lines repeat what failed: CI may keep
# only the last lines of a log.
set -uo pipefail
swift=${SWIFT:-swift}

# Without a limit all tests start at once. On a machine with two cores, one test then waits minutes for its turn between
# two of its steps, and every time limit in it, or in Foundation, runs out. Toolchains before 6.3 do not have the option.
set -- --enable-all-traits "$@"
# Not with `grep -q`: it ends at the first match, and then the pipe fails if swift is still writing.
if [[ $($swift test --help-hidden) == *experimental-maximum-parallelization-width* ]]; then
  set -- --experimental-maximum-parallelization-width 16 "$@"
fi

# The soak test judges what five processes answer within seconds. Beside all other tests, they may not even get a
# processor for that long. So it runs alone, and first: the last lines of the output sum up the other tests.
soak='^SoakTests\.SoakTests/'
test_all() {
  [[ " $* " == *" --filter "* ]] && { $swift test "$@"; return; }
  $swift test "$@" --filter "$soak"
  local first=$?
  $swift test "$@" --skip "$soak" && return "$first"
}

# A reader at a terminal sees all of the output, in colour.
[ -t 1 ] && { test_all "$@"; exit; }

log=$(mktemp)
trap 'rm -f "$log"' EXIT
test_all "$@" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}
[ "$status" -eq 0 ] && exit 0

# Tests run at the same time: a line may begin within another.
sed $'s/\x1b\\[[0-9;]*m//g' "$log" | awk '
  function tell(line) { print (length(line) > 400 ? substr(line, 1, 400) " …" : line) }
  /✘ Test .* recorded an issue/ {
    sub(/.*✘ Test /, "✘ Test ")
    issues += 1
    details = 5
    if (issues <= 20) tell($0)
    next
  }
  # What is said of an issue follows it, up to the next that is told of anything.
  details > 0 && !/^(◇|✔|✘|➜|⚠)/ {
    details -= 1
    if (issues <= 20) tell("  " $0)
    next
  }
  { details = 0 }
  /(^| )error: |Fatal error|✘ Test run with/ { others[++count] = $0 }
  BEGIN { print "\nWhat failed:" }
  END {
    if (issues > 20) print "… and " issues - 20 " more"
    for (i = count > 4 ? count - 3 : 1; i <= count; i++) tell(others[i])
  }'
exit "$status"
