#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 the HTTPCacheEngine authors

# Runs tests that are already built, tier by tier, and ends with one line of totals over all runs.
#
#   scripts/test.sh TIER…      TIER is unit, integration or long: folders of each test target.
#
# The tests of the unit tier run together in one process. In the other tiers, each folder of the tier's folder is run in a process
# of its own, one after the other, so that no test depends on what those of another folder do at the same time.
#
# TESTS   a regular expression: runs only the tests whose names match (default: all)
# WIDTH   tests of a process that run at the same time, but for unit tests (default: 4)
# SWIFT, SCRATCH, FLAGS   as in the Makefile
set -uo pipefail
cd "$(dirname "$0")/.."

[ $# -gt 0 ] || { echo "usage: scripts/test.sh TIER…; TIER is unit, integration or long" >&2; exit 2; }
for tier; do
  case $tier in
    unit | integration | long) ;;
    *) echo "no tier $tier: expected unit, integration or long" >&2; exit 2 ;;
  esac
done

scratch=${SCRATCH:-.build}
read -ra flags <<<"${FLAGS:-}"
program=$scratch/debug/HTTPCacheEnginePackageTests.xctest

# Runs the tests that match a regular expression, a number of them at a time.
#
# Where the tests are a program, it is started without the package manager, which plans a build for 8 s of processor time
# before each run. Toolchains before 6.3 ignore the option for the number: all tests start at once, and wait for each other.
start_tests() { # NUMBER FILTER
  if [ -f "$program" ]; then
    "$program" --testing-library swift-testing --experimental-maximum-parallelization-width "$1" --filter "$2"
  else
    "${SWIFT:-swift}" test --skip-build --disable-xctest --enable-all-traits --scratch-path "$scratch" ${flags[@]+"${flags[@]}"} \
      --filter "$2"
  fi
}

log=$(mktemp) run=$(mktemp)
trap 'rm -f "$log" "$run"' EXIT
(( passed = failed = skipped = 0 ))

# Perl reads the patterns and the output as bytes. A sign such as ✘ is three of them, so it cannot stand in brackets.

# Prints the names of the tests that began in a run and did not end: when the process crashed, one of them was at fault.
unfinished() {
  perl -ne '
    while (/◇ Test (?!run |case )(.+?) started\./g) { $open{$1}++ }
    while (/(?:✔|✘) Test (?!run |case )(.+?)(?: with \d+ test cases?)? (?:passed|failed) after/g) { delete $open{$1} }
    END { print "  $_\n" for sort keys %open }' "$1"
}

# Runs the tests that match a regular expression, and adds them to the totals.
run_tests() { # LABEL WIDTH FILTER
  echo "— $1"
  local descriptors=96
  # Each caching configuration keeps its origin session for the life of the process.
  [[ $1 == HTTPCacheURLSession* ]] && descriptors=1000
  # A soft limit, which a program that a test starts may raise. Tests that leave descriptors open reach it.
  (ulimit -Sn 2048 && HTTPCACHE_TEST_DESCRIPTORS=$descriptors start_tests "$2" "$3") 2>&1 | tee "$run"
  local status=${PIPESTATUS[0]} count end
  sed -i.bak $'s/\x1b\\[[0-9;]*m//g' "$run" && rm -f "$run.bak"
  cat "$run" >>"$log"
  end=$(grep -oE 'Test run with [0-9]+ tests?.*' "$run" | tail -1)
  count=$(grep -oE '[0-9]+' <<<"$end" | head -1)
  local failures skips
  # A test is counted as failed once, whatever number of its cases failed.
  failures=$(perl -ne 'while (/✘ Test (?!run |case )(.+?)(?: with \d+ test cases?)? failed after/g) { $n{$1}++ }
    END { print scalar keys %n }' "$run")
  skips=$(grep -cE '➜ Test .* skipped' "$run")
  # No test of the target matches TESTS.
  [ "$status" -eq 69 ] && return
  if [ -z "$end" ]; then
    { echo "✘ Test run of $1 ended before its tests did. Unfinished:"; unfinished "$run"; } | tee -a "$log"
    (( failures += 1 ))
  elif (( status && !failures )); then
    # Without perl, too, a run that failed counts.
    echo "✘ Test run of $1 failed with status $status." | tee -a "$log"
    failures=1
  fi
  (( failed += failures, skipped += skips, passed += ${count:-0} > failures + skips ? count - failures - skips : 0 ))
}

# Prints a regular expression of the tests in a folder: those of its suites, whose names end with Tests.
tests_in() { # FOLDER
  local target suites
  target=$(cut -d / -f 2 <<<"$1")
  suites=$(grep -rhE --include='*.swift' '^([^/]* )?(struct|class|actor) [A-Za-z0-9]+Tests([^A-Za-z0-9]|$)' "$1" \
    | sed -E 's/.*(struct|class|actor) ([A-Za-z0-9]+Tests).*/\2/' | sort -u | paste -sd '|' -)
  echo "$target\\.($suites)/"
}

for tier; do
  name=$(tr '[:lower:]' '[:upper:]' <<<"${tier:0:1}")${tier:1}
  if [ "$tier" = unit ]; then
    all=()
    for folder in Tests/*/"$name"; do all+=("$(tests_in "$folder")"); done
    run_tests "unit tests" 8 "^(?=.*(${TESTS:-}))($(IFS='|'; echo "${all[*]}"))"
  else
    for folder in Tests/*/"$name"/*/; do
      run_tests "$(cut -d / -f 2- <<<"${folder%/}")" "${WIDTH:-4}" "^(?=.*(${TESTS:-}))($(tests_in "$folder"))"
    done
  fi
done

if (( failed )); then
  # The last lines of a log may be all that is kept of it, so they repeat what failed.
  awk '
    function tell(line) { print (length(line) > 400 ? substr(line, 1, 400) " …" : line) }
    # Tests run at the same time: a line may begin within another.
    /✘ (Test|Suite) .* recorded an issue/ {
      sub(/.*✘ Test /, "✘ Test ") || sub(/.*✘ Suite /, "✘ Suite ")
      issues += 1
      details = 5
      if (issues <= 20) tell($0)
      next
    }
    /✘ Test run of / { names = 1; tell($0); next }
    names && /^  / { tell($0); next }
    { names = 0 }
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
    }' "$log"
fi
(( passed + failed + skipped )) || echo "No test matches${TESTS:+ TESTS=$TESTS}."
(( skipped )) && echo "Totals: $passed passed, $failed failed, $skipped skipped" || echo "Totals: $passed passed, $failed failed"
(( passed && !failed ))
