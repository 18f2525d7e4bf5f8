#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 the HTTPCacheEngine authors

# Builds the documentation site in SCRATCH/site, from the modules that `make build` compiled. A warning is an error.
#
# The plugin for DocC would do the same, but it is a package, which all packages that depend on this one would fetch.
set -euo pipefail
cd "$(dirname "$0")/.."

scratch=${SCRATCH:-.build}
# In this order, a module can link to those before it.
modules=(HTTPCacheEngine HTTPCacheStore HTTPCaching HTTPCacheURLSession HTTPCacheTesting HTTPCacheObserving HTTPCacheTracing
  HTTPCacheProxy HTTPCacheHummingbird HTTPCacheAsyncHTTPClient HTTPCacheRedis)

# On macOS, xcrun finds the tools and the system's modules.
tool() { if command -v "$1" >/dev/null; then "$@"; else xcrun "$@"; fi; }
options=(-target "$("${SWIFT:-swift}" -print-target-info | sed -n 's/.*"triple": "\(.*\)".*/\1/p' | head -1)")
command -v xcrun >/dev/null && options+=(-sdk "$(xcrun --show-sdk-path)")

# What the modules import: those in Swift, and those in C with their maps. `swift package dump-symbol-graph` would find them
# by itself, and compile everything with other flags first.
options+=(-I "$scratch/debug/Modules")
for map in "$scratch"/checkouts/*/Sources/*/include/module.modulemap "$scratch"/debug/*.build/module.modulemap \
  Sources/*/include/module.modulemap Sources/*/module.modulemap; do
  [ -f "$map" ] && options+=(-Xcc "-fmodule-map-file=$map")
done
for headers in "$scratch"/checkouts/*/Sources/*/include Sources/*/include; do
  [ -d "$headers" ] && options+=(-I "$headers")
done

work=$scratch/docs
rm -rf "$work" "$scratch/site"
archives=() dependencies=()
for module in "${modules[@]}"; do
  mkdir -p "$work/$module"
  tool swift-symbolgraph-extract -module-name "$module" "${options[@]}" -minimum-access-level public \
    -skip-synthesized-members -emit-extension-block-symbols -output-dir "$work/$module"
  tool docc convert "Sources/$module/$module.docc" --additional-symbol-graph-dir "$work/$module" \
    --fallback-display-name "$module" --fallback-bundle-identifier "$module" --warnings-as-errors \
    --enable-experimental-external-link-support ${dependencies[@]+"${dependencies[@]}"} \
    --transform-for-static-hosting --hosting-base-path / --output-path "$work/$module.doccarchive"
  archives+=("$work/$module.doccarchive")
  dependencies+=(--dependency "$work/$module.doccarchive")
done
tool docc merge "${archives[@]}" --synthesized-landing-page-name HTTPCacheEngine --output-path "$scratch/site"
echo "The site is in $scratch/site."
