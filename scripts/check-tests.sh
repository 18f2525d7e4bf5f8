#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 the HTTPCacheEngine authors

# Refuses in each tier of tests what makes its tests fail by chance: see "Tests" in CONTRIBUTING.md.
set -eu
cd "$(dirname "$0")/.."

status=0
refuse() { # WHAT PATTERN FOLDER…
  what=$1 pattern=$2
  shift 2
  found=$(grep -rnE --include='*.swift' "$pattern" "$@" | grep -vE '^[^:]*:[0-9]+: *(//|func )' || true)
  [ -z "$found" ] && return
  echo "$found" >&2
  echo "$what" >&2
  status=1
}

refuse "Unit tests have a clock that they control, and no process: wait for an event, or move the test to Tests/Integration." \
  'ContinuousClock|SuspendingClock|Task\.sleep|Task\.yield|Thread\.sleep|(^|[^.[:alnum:]])(u|nano)?sleep\(|\beventually\(|\bProcess\(|ChildProcess\(' \
  Tests/Unit
refuse "A loop around Task.yield takes the processor from what it waits for: await an event." \
  'Task\.yield' Tests Sources
refuse "Foundation's Process lists all descriptors and may crash beside sockets: use ChildProcesses." \
  '\bProcess\(\)' Tests Sources Benchmarks
exit $status
