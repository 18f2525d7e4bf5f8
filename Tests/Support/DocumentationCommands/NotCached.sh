# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 the HTTPCacheEngine authors

# shellcheck shell=bash
# The page says in its text that the proxy has these two options in some examples.
replace 's/httpcache proxy .*/& --no-vary-search --memory 1MB/'
background '^httpcache proxy' 8080
origin 8000
cd "$work" || exit 1
# The proxy writes the access log in the background: the command that counts its lines waits for the last one.
replace 's/^awk /for _ in $(seq 100); do grep -q reason=requestContent access.log \&\& break; sleep 0.1; done; awk /'
