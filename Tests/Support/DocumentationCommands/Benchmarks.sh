# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 the HTTPCacheEngine authors

# shellcheck shell=bash
replace "s#quick.json#$work/quick.json#g; s#quick.html#$work/quick.html#; s#--svg plots#--svg $work/plots#"
skip 'cache-bench-servers proxy' 'takes minutes, and needs wrk'
skip 'cache-bench-servers waiting' 'takes minutes'
skip 'cache-bench-servers fleet' 'takes minutes, and needs wrk'
skip 'cache-bench-servers baseline' 'needs a build of another commit'
command -v valgrind >/dev/null || skip '^make bench-instructions' 'needs valgrind'
skip '^make bench-limits' 'writes new limits'
skip 'swift package benchmark' 'needs a package that only this command uses, and takes half an hour'
