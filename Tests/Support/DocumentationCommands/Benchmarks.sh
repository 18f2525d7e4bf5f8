# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 the HTTPCacheEngine authors

# shellcheck shell=bash
# The other tests need all traits: one build serves them all.
replace 's/--traits [A-Za-z]*Benchmarks/--enable-all-traits/'
replace "s#mixed.json#$work/mixed.json#; s#mixed.html#$work/mixed.html#; s#--svg plots#--svg $work/plots#"
skip 'cache-bench-servers proxy' 'takes minutes, and needs wrk'
skip 'cache-bench-servers fleet' 'takes minutes, and needs wrk'
skip 'cache-bench-servers baseline' 'needs a build of another commit'
command -v valgrind >/dev/null || skip '^make bench-instructions' 'needs valgrind'
skip '^make bench-limits' 'writes new limits'
skip 'swift package benchmark' 'needs a package that only this command uses, and takes half an hour'
