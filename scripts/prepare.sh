#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 the HTTPCacheEngine authors

# Makes sure that libxxhash and libhiredis with their headers are there, and redis-server for the tests. Installs them
# without a question where that is possible; otherwise says what to install, and stops.
set -eu

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

# The Debian packages of what is missing.
missing() {
  has_header xxhash.h || printf ' libxxhash-dev'
  has_header hiredis/hiredis.h || printf ' libhiredis-dev'
  command -v redis-server >/dev/null 2>&1 || printf ' redis-server'
}

command -v swift >/dev/null 2>&1 || {
  echo "swift is not on the PATH: install Swift 6.2 or later (swift.org/install), then run this again." >&2
  exit 1
}
packages=$(missing)
[ -n "$packages" ] || exit 0

case "$(uname -s)" in
  Darwin)
    packages=$(echo "$packages" | sed 's/libxxhash-dev/xxhash/; s/libhiredis-dev/hiredis/; s/redis-server/redis/')
    command -v brew >/dev/null 2>&1 || {
      echo "Missing:$packages. Install Homebrew and run 'brew install$packages', then run this again." >&2
      exit 1
    }
    # Each word is a package.
    # shellcheck disable=SC2086
    brew install --quiet $packages
    ;;
  *)
    if ! command -v apt-get >/dev/null 2>&1; then
      echo "Missing:$packages. Install the packages of your distribution (Fedora: xxhash-devel, hiredis-devel and" >&2
      echo "redis; Alpine: xxhash-dev, hiredis-dev and redis), then run this again." >&2
      exit 1
    fi
    if [ "$(id -u)" != 0 ]; then
      echo "Missing:$packages. Install what is missing, then run this again:" >&2
      echo "  sudo apt-get update && sudo apt-get install -y$packages" >&2
      exit 1
    fi
    echo "Installing$packages."
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
