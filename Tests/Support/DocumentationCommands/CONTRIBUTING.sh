# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 the HTTPCacheEngine authors

# shellcheck shell=bash
replace 's#FILE.json#Tests/CommandTests/Unit/Conformance/Scenarios/age.json#; s#SCENARIO#age-of-the-origin-counts#'
replace 's#https://example.com/#http://127.0.0.1:8000/#; s#httpcache explain#& --url http://127.0.0.1:8000/#'
origin 8000
