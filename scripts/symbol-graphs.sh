#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 the HTTPCacheEngine authors

# Writes the public symbols of each library, from the modules that `make build` compiled, to a folder: `FOLDER/MODULE/*.json`.
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -eq 1 ] || { echo "usage: scripts/symbol-graphs.sh FOLDER" >&2; exit 2; }
scratch=${SCRATCH:-.build}
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

for module in $(sed -n 's/.*\.library(name: "\([A-Za-z]*\)".*/\1/p' Package.swift); do
  mkdir -p "$1/$module"
  # The archives have a module of their own, which only HTTPCacheTesting exports.
  tool swift-symbolgraph-extract -module-name "$module" "${options[@]}" -minimum-access-level public \
    -experimental-allowed-reexported-modules=HTTPCacheArchives \
    -skip-synthesized-members -emit-extension-block-symbols -output-dir "$1/$module"
done
