# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 the HTTPCacheEngine authors

# shellcheck shell=bash
# The other tests need all traits: one build serves them all.
replace 's/--traits Benchmarks/--enable-all-traits/'
command -v valgrind >/dev/null || skip '^make bench-instructions' 'needs valgrind'
skip '^make bench-limits' 'writes new limits'
skip 'swift package benchmark' 'needs a package that only this command uses, and takes half an hour'
