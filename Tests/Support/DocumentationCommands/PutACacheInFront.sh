# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 the HTTPCacheEngine authors

# shellcheck shell=bash
background '^python3' 8000
background 'httpcache proxy' 8080
# The other tests need all traits: one build serves them all.
replace 's/--traits CommandLine/--enable-all-traits/'
