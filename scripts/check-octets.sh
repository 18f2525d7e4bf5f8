#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 the HTTPCacheEngine authors

# Refuses what reads the octets of messages as text of Unicode: see "Octets" in CONTRIBUTING.md. Comments are not looked at.
set -eu
cd "$(dirname "$0")/.."

status=0
refuse() { # WHAT PATTERN EXCEPT FOLDER…
  what=$1 pattern=$2 except=$3
  shift 3
  # grep ends with 1 if it finds nothing, and with 2 if a folder is missing.
  found=$(grep -rnE --include='*.swift' -e "$pattern" "$@") || [ $? -eq 1 ] || { status=1; return 0; }
  found=$(printf '%s' "$found" | sed -E '/^[^:]*:[0-9]+: *\/\//d' | grep -vE "$except") || return 0
  printf '%s\n%s\n' "$found" "$what" >&2
  status=1
}

# These read what people type, and the output of other programs.
refuse "lowercased() maps letters beyond ASCII, such as the KELVIN SIGN to k: use lowercasedASCII." \
  '\.(lowercased|uppercased|localizedLowercase|caseInsensitiveCompare)\(' '^Sources/(httpcache|Loopback)/' Sources
# What these files read is of ASCII, or is not compared.
refuse "HTTPField.value replaces octets that are not UTF-8: use Octets(valueOf:) or withOctets." \
  '(\bfield|\[[a-z]+\])\.value\b([^(]|$)' \
  '^Sources/HTTPCacheEngine/(Fields/(ResponseFields|ConnectionFields|EntityTag|SelectingFields)|Rules/Request(Fields|Selection)|Stored/(KeptFields|SelectingBytes|StoredResponse\+Coding)|Support/Octets)\.swift:' \
  Sources/HTTPCacheEngine
exit $status
