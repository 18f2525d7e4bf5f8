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
modules=(HTTPCacheEngine HTTPCacheStore HTTPCaching HTTPCacheURLSession HTTPCacheTesting HTTPCacheObserving HTTPCacheProxy
  HTTPCacheHummingbird HTTPCacheAsyncHTTPClient HTTPCacheRedis)

# On macOS, xcrun finds the tools.
tool() { if command -v "$1" >/dev/null; then "$@"; else xcrun "$@"; fi; }

work=$scratch/docs
rm -rf "$work" "$scratch/site"
bash scripts/symbol-graphs.sh "$work/graphs"
archives=() dependencies=()
for module in "${modules[@]}"; do
  tool docc convert "Sources/$module/$module.docc" --additional-symbol-graph-dir "$work/graphs/$module" \
    --fallback-display-name "$module" --fallback-bundle-identifier "$module" --warnings-as-errors \
    --enable-experimental-external-link-support ${dependencies[@]+"${dependencies[@]}"} \
    --transform-for-static-hosting --hosting-base-path / --output-path "$work/$module.doccarchive"
  archives+=("$work/$module.doccarchive")
  dependencies+=(--dependency "$work/$module.doccarchive")
done
tool docc merge "${archives[@]}" --synthesized-landing-page-name HTTPCacheEngine --output-path "$scratch/site"
echo "The site is in $scratch/site."
