#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 the HTTPCacheEngine authors

# Refuses in each tier of tests what makes its tests fail by chance: see "Tests" in CONTRIBUTING.md. Comments are not looked at.
set -eu
cd "$(dirname "$0")/.."

status=0
refuse() { # WHAT PATTERN [OPTION…] FOLDER…
  what=$1 pattern=$2
  shift 2
  # grep ends with 1 if it finds nothing, and with 2 if a folder is missing.
  found=$(grep -rnE --include='*.swift' --exclude-dir=.build -e "$pattern" "$@") || [ $? -eq 1 ] || { status=1; return 0; }
  found=$(printf '%s' "$found" | sed -E '/^[^:]*:[0-9]+: *\/\//d')
  [ -n "$found" ] || return 0
  printf '%s\n%s\n' "$found" "$what" >&2
  status=1
}

# A call of a function of C, with or without its module.
c='(^|[^.[:alnum:]_]|(Foundation|Glibc|Musl|Darwin)\.)'
# Clocks, sleeps and polls; then processes; then sockets.
refuse "Unit tests have a clock that they control: wait for an event, or move the test to the Integration folder." \
  "ContinuousClock|SuspendingClock|SystemCacheClock|MonotonicClock|\.(continuous|suspending)\b|\bTask(<[^>]*>)?\.(sleep|yield)\b|Thread\.sleep|${c}(u|nano|clock_nano)?sleep\(|${c}p?poll\(|sched_yield|\beventually\b|asyncAfter|\.wait\((wall)?[tT]imeout:|Dispatch(Wall)?Time\.now|clock_gettime|gettimeofday|NIODeadline\.now|systemUptime|\bDate(\.init)?\(\)|\bDate = \.(init\(\)|now)|\bDate\.now|\bTimer\b|RunLoop\b.*\.run\b" \
  Tests/*/Unit
refuse "Unit tests start no process: move the test to the Integration folder." \
  '\bProcess(\.init)?\(|\bProcess\.run\(|\bProcess = |\bChildProcess(\.init)?\(|\bCommand\(words:|posix_spawn' Tests/*/Unit
refuse "Unit tests have no socket: use an embedded channel, or move the test to the Integration folder." \
  "${c}socket\(|LoopbackOrigin|RedisServer|MultiThreadedEventLoopGroup|URLSession\.shared\b" \
  --exclude-dir=Snippets Tests/*/Unit # the snippets are only compiled
refuse "A loop around Task.yield takes the processor from what it waits for: await an event." \
  '\bTask(<[^>]*>)?\.yield\b' Tests Sources
refuse "Foundation's Process lists all descriptors and may crash beside sockets: use ChildProcesses." \
  '\bProcess(\.init)?\(\)|\bProcess\.run\(|\bProcess = ' Tests Sources Benchmarks
# scripts/test.sh finds the tests of a folder by the names of their suites.
for file in $(grep -rlE --include='*.swift' '@Test\b' Tests); do
  case $file in Tests/*/Unit/* | Tests/*/Integration/*/* | Tests/*/Long/*/*) ;; *)
    echo "$file: not run: tests are in Unit, or in a folder of Integration or Long" >&2; status=1 ;;
  esac
  grep -qE '^([^/]* )?(struct|class|actor|extension) [A-Za-z0-9]+Tests([^A-Za-z0-9]|$)' "$file" \
    || { echo "$file: not run: the name of a suite ends with Tests" >&2; status=1; }
done
exit $status
