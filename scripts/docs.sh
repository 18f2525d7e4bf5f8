#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 the HTTPCacheEngine authors

# Builds the documentation site in SCRATCH/site, from the modules that `make build` compiled. A warning is an error.
#
# The plugin for DocC would do the same, but it is a package, which all packages that depend on this one would fetch.
set -euo pipefail
cd "$(dirname "$0")/.."

scratch=${SCRATCH:-.build}
read -ra flags <<<"${FLAGS:-}"
# In this order, a module can link to those before it.
modules=(HTTPCacheEngine HTTPCacheStore HTTPCaching HTTPCacheURLSession HTTPCacheTesting HTTPCacheObserving HTTPCacheTracing
  HTTPCacheProxy HTTPCacheHummingbird HTTPCacheAsyncHTTPClient HTTPCacheRedis)

# On macOS, docc is found by xcrun only.
docc=(docc)
command -v docc >/dev/null || docc=(xcrun docc)

log=$(mktemp) && trap 'rm -f "$log"' EXIT
# As in the Makefile: with other hashes, the package manager would compile all modules again.
export SWIFT_DETERMINISTIC_HASHING=1
"${SWIFT:-swift}" package --enable-all-traits --scratch-path "$scratch" "${flags[@]}" dump-symbol-graph \
  --minimum-access-level public --skip-synthesized-members --emit-extension-block-symbols >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
graphs=$(sed -n 's/^Files written to //p' "$log")
[ -d "$graphs" ] || { cat "$log" >&2; echo "The package manager wrote no symbol graphs." >&2; exit 1; }

work=$scratch/docs
rm -rf "$work" "$scratch/site"
mkdir -p "$work"
archives=() dependencies=()
for module in "${modules[@]}"; do
  mkdir "$work/$module"
  cp "$graphs/$module".symbols.json "$graphs/$module"@*.symbols.json "$work/$module/" 2>/dev/null || [ -e "$work/$module/$module.symbols.json" ]
  "${docc[@]}" convert "Sources/$module/$module.docc" --additional-symbol-graph-dir "$work/$module" \
    --fallback-display-name "$module" --fallback-bundle-identifier "$module" --warnings-as-errors \
    --enable-experimental-external-link-support "${dependencies[@]}" \
    --transform-for-static-hosting --hosting-base-path / --output-path "$work/$module.doccarchive"
  archives+=("$work/$module.doccarchive")
  dependencies+=(--dependency "$work/$module.doccarchive")
done
"${docc[@]}" merge "${archives[@]}" --synthesized-landing-page-name HTTPCacheEngine --output-path "$scratch/site"
echo "The site is in $scratch/site."
