# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 the HTTPCacheEngine authors

# shellcheck shell=bash
# The other tests need all traits: one build serves them all.
replace 's/--traits Benchmarks/--enable-all-traits/'
replace "s#mixed.json#$work/mixed.json#; s#mixed.html#$work/mixed.html#; s#--svg plots#--svg $work/plots#"
skip 'cache-bench proxy' 'takes minutes, and needs wrk'
skip 'cache-bench fleet' 'takes minutes, and needs wrk'
skip 'cache-bench workload mixed --rounds' 'needs a build of another commit'
