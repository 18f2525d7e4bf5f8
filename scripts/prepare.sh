#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 the HTTPCacheEngine authors

# Installs what is missing of what the build needs, and says in one line what it installs: as root with apt-get, on macOS with
# Homebrew. Otherwise it fails, and says what to install.
#
#   scripts/prepare.sh [--check] [NAME…]
#
# NAME is xxhash (all products), hiredis (the trait Redis), yaml (the trait CommandLine), redis (the tests on Redis), tools (the
# other commands that tests and their scripts start) or valgrind (the count of instructions); the default is all but the last.
# With --check, it installs nothing: it fails if something is missing, and says what to run.
set -eu

check=
[ "${1:-}" != --check ] || { check=1; shift; }
[ $# -gt 0 ] || set -- xxhash hiredis yaml redis tools
for name; do
  case $name in
    xxhash | hiredis | yaml | redis | tools | valgrind) ;;
    *) echo "$name: expected xxhash, hiredis, yaml, redis, tools or valgrind" >&2; exit 2 ;;
  esac
done
wanted=" $* "

# Whether a C compiler finds a header.
has_header() {
  for compiler in clang cc gcc; do
    command -v "$compiler" >/dev/null 2>&1 || continue
    echo "#include <$1>" | "$compiler" -E - >/dev/null 2>&1 && return 0
    # Where Homebrew's libraries are, which the package manager finds with pkg-config.
    prefix=$(command -v brew >/dev/null 2>&1 && brew --prefix) || continue
    echo "#include <$1>" | "$compiler" -E -I"$prefix/include" - >/dev/null 2>&1 && return 0
  done
  return 1
}

wants() { case "$wanted" in *" $1 "*) ;; *) return 1 ;; esac; }
has() { command -v "$1" >/dev/null 2>&1; }

# The Debian packages of what is missing.
missing() {
  if wants xxhash && ! has_header xxhash.h; then printf ' libxxhash-dev'; fi
  if wants hiredis && ! has_header hiredis/hiredis.h; then printf ' libhiredis-dev'; fi
  if wants yaml && ! has_header yaml.h; then printf ' libyaml-dev'; fi
  if wants redis && ! has redis-server; then printf ' redis-server'; fi
  if wants tools && ! has openssl; then printf ' openssl'; fi
  if wants tools && ! has perl; then printf ' perl'; fi
  if wants tools && ! has curl; then printf ' curl'; fi
  # With its header, by which the program tells it what to count.
  if wants valgrind && ! { has valgrind && has_header valgrind/callgrind.h; }; then printf ' valgrind'; fi
}

has "${SWIFT:-swift}" || {
  echo "${SWIFT:-swift} is not on the PATH: install Swift 6.2 or later (swift.org/install), then run this again." >&2
  exit 1
}
packages=$(missing)
[ -n "$packages" ] || exit 0
[ -z "$check" ] || {
  echo "Missing:$packages. Run 'make prepare' to install what is missing, then run this again." >&2
  exit 1
}

case "$(uname -s)" in
  Darwin)
    packages=$(echo "$packages" | sed 's/libxxhash-dev/xxhash/; s/libhiredis-dev/hiredis/; s/libyaml-dev/libyaml/; s/redis-server/redis/')
    command -v brew >/dev/null 2>&1 || {
      echo "Missing:$packages. Install Homebrew and run 'brew install$packages', then run this again." >&2
      exit 1
    }
    echo "Installing with Homebrew:$packages"
    # Each word is a package.
    # shellcheck disable=SC2086
    brew install --quiet $packages
    ;;
  *)
    if ! command -v apt-get >/dev/null 2>&1; then
      echo "Missing:$packages. Install the packages of your distribution (Fedora: xxhash-devel, hiredis-devel, libyaml-devel," >&2
      echo "redis, openssl, perl, curl and valgrind-devel; Alpine: xxhash-dev, hiredis-dev, yaml-dev, redis, openssl, perl, curl and" >&2
      echo "valgrind-dev), then run this again." >&2
      exit 1
    fi
    if [ "$(id -u)" != 0 ]; then
      echo "Missing:$packages. Install what is missing, then run this again:" >&2
      echo "  sudo apt-get update && sudo apt-get install -y$packages" >&2
      exit 1
    fi
    echo "Installing with apt-get:$packages"
    DEBIAN_FRONTEND=noninteractive apt-get update -qq
    # Each word is a package. The service of redis-server is not needed: the tests start processes of their own.
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null
    ;;
esac

packages=$(missing)
[ -z "$packages" ] || {
  echo "Installed, but still not found:$packages. Check the compiler's include path and the PATH." >&2
  exit 1
}
