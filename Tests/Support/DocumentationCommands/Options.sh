# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 the HTTPCacheEngine authors

# shellcheck shell=bash
background '^httpcache proxy' 8080
origin 8000
skip '^httpcache purge --shared' 'needs a server that proxies share'
command -v wget >/dev/null || skip '^wget' 'wget is not installed'
replace 's#https://example.com/#http://127.0.0.1:8000/#g; s#https://\*\.example.com/#http://*/#'
replace "s#/var/cache/httpcache#$work/cache#; s#/var/tmp/my-app-cache#$work/app#"
cp "$support/session.har" "$work/session.har"
cat >"$work/tests.json" <<'JSON'
[{"name": "One", "id": "one", "tests": [{"name": "A fresh response is a hit", "id": "freshness-max-age", "requests": [
  {"response_headers": [["Cache-Control", "max-age=3600"]], "setup": true}, {"expected_type": "cached"}]}]}]
JSON
printf 'origin: http://127.0.0.1:%s\nlisten: 127.0.0.1:%s\n' "${ports[8000]}" "${ports[8080]}" >"$work/proxy.yaml"
cd "$work" || exit 1
