# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 the HTTPCacheEngine authors

# shellcheck shell=bash
origin 8000
replace 's#https://api.example/#http://127.0.0.1:8000/#g'
replace "s#/var/tmp/my-app-cache#$work/app#"
cp "$support/session.har" "$work/session.har"
cd "$work" || exit 1
