#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 the HTTPCacheEngine authors

# Makes sure that libxxhash and its headers are there. Installs them without a question where that is possible;
# otherwise says what to install, and stops.
set -eu

has_xxhash() {
  for compiler in clang cc gcc; do
    command -v "$compiler" >/dev/null 2>&1 || continue
    echo '#include <xxhash.h>' | "$compiler" -E - >/dev/null 2>&1 && return 0
  done
  return 1
}

command -v swift >/dev/null 2>&1 || {
  echo "swift is not on the PATH: install Swift 6.2 or later (swift.org/install), then run this again." >&2
  exit 1
}
has_xxhash && exit 0

case "$(uname -s)" in
  Darwin)
    command -v brew >/dev/null 2>&1 || {
      echo "libxxhash is missing: install Homebrew and run 'brew install xxhash', then run this again." >&2
      exit 1
    }
    brew install --quiet xxhash
    ;;
  *)
    if ! command -v apt-get >/dev/null 2>&1; then
      echo "libxxhash is missing: install its development package (Fedora: xxhash-devel, Alpine: xxhash-dev)," >&2
      echo "then run this again." >&2
      exit 1
    fi
    if [ "$(id -u)" != 0 ]; then
      echo "libxxhash-dev is missing. Install it, then run this again:" >&2
      echo "  sudo apt-get update && sudo apt-get install -y libxxhash-dev" >&2
      exit 1
    fi
    echo "Installing libxxhash-dev."
    DEBIAN_FRONTEND=noninteractive apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq libxxhash-dev >/dev/null
    ;;
esac

has_xxhash || {
  echo "libxxhash was installed, but <xxhash.h> still cannot be found: check the compiler's include path." >&2
  exit 1
}
