# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 the HTTPCacheEngine authors

# shellcheck shell=bash
replace "s#url: \"https://…/HTTPCacheEngine\", from: \"[0-9.]*\"#name: \"HTTPCacheEngine\", path: \"$root\"#"
replace "s#/var/tmp/feed-cache#$work/feed-cache#"
background '^python3' 8000
mkdir -p "$work/tutorial" && cd "$work/tutorial" || exit 1
