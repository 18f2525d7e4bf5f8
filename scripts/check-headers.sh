#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 the HTTPCacheEngine authors

# Lists the source files that do not begin with the licence header, and fails if there are any. With --fix, adds it to them.
# `// swift-tools-version` and `#!` stay the first line. Files can be named; without names, all that git knows are looked at.
set -eu
cd "$(dirname "$0")/.."

# The year is the one in which a file was made.
owner='Copyright [(]c[)] [0-9][0-9][0-9][0-9] the HTTPCacheEngine authors'
year=2026

fix=false
if [ "${1:-}" = --fix ]; then
  fix=true
  shift
fi

# A pipeline ignores the status of git, which refuses a checkout of another user, for example.
known=
if [ $# -eq 0 ]; then
  known=$(git ls-files --cached --others --exclude-standard -- Package.swift Sources Tests Benchmarks Examples Fuzz scripts .ci)
  [ -n "$known" ] || { echo "git knows no source file here" >&2; exit 1; }
fi

names() {
  if [ $# -gt 0 ]; then
    printf '%s\n' "$@"
  else
    printf '%s\n' "$known" | grep -E '\.(swift|c|h|sh)$|^\.ci/run$' | grep -v '\.docc/' # a reader copies the examples in there
  fi | while IFS= read -r file; do
    # A file may be deleted while git still knows it.
    if [ -f "$file" ]; then printf '%s\n' "$file"; fi
  done
}

# Prints those of the files that lack the header: its two lines and a blank one, or the end of the file.
without_header() {
  [ $# -eq 0 ] || awk -v owner="$owner" '
    function judge() { if (file != "" && !(found == 3 || (found == 2 && lines == 2))) print file }
    FNR == 1 {
      judge()
      file = FILENAME; found = 0; lines = 0
      mark = file ~ /[.](swift|c|h)$/ ? "//" : "#"
      if ($0 ~ /^#!/ || $0 ~ /^\/\/ swift-tools-version/) next
    }
    lines < 3 {
      lines++
      if (lines == 1) found += $0 == mark " SPDX-License-Identifier: Apache-2.0"
      if (lines == 2) found += $0 ~ "^" mark " " owner "$"
      if (lines == 3) found += $0 == ""
    }
    END { judge() }' "$@"
}

add_header() {
  before=$(awk '{ print /^#!/ || /^\/\/ swift-tools-version/; exit }' "$1")
  case $1 in
    *.swift | *.c | *.h) mark='//' ;;
    *) mark='#' ;;
  esac
  with=$(mktemp)
  {
    head -n "${before:-0}" "$1"
    printf '%s SPDX-License-Identifier: Apache-2.0\n%s Copyright (c) %s the HTTPCacheEngine authors\n\n' "$mark" "$mark" "$year"
    # The blank lines that were there are left out.
    tail -n "+$((${before:-0} + 1))" "$1" | sed '/./,$!d'
  } >"$with"
  # The file itself is kept, and so are its permissions.
  cat "$with" >"$1"
  rm -f "$with"
}

# Names are split at line ends only.
IFS='
'
set -f
set -- $(names "$@")
set -- $(without_header "$@")
if [ $# -eq 0 ]; then
  exit 0
elif $fix; then
  for file in "$@"; do add_header "$file"; done
  echo "headers added: $#"
else
  for file in "$@"; do echo "$file: no licence header" >&2; done
  echo "files without the licence header: $#; add it with: sh scripts/check-headers.sh --fix" >&2
  exit 1
fi
