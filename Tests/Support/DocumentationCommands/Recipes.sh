# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 the HTTPCacheEngine authors

# shellcheck shell=bash
skip '^(systemctl|journalctl)' 'needs systemd'
skip '^docker' 'needs Docker'
skip 'curl .*https://www.example.com/ ' 'needs a TLS terminator'
origin 8000
export TOKEN=token
httpcache proxy --origin "http://127.0.0.1:${ports[8000]}" --listen "127.0.0.1:${ports[8080]}" \
  --admin "127.0.0.1:${ports[9090]}" --admin-token token --scheme https 2>/dev/null &
processes+=($!)
await_port "${ports[9090]}"
echo https://www.example.com/news/42 >"$work/urls.txt"
cd "$work" || exit 1

# What other programs can say about the files on the page.
if command -v promtool >/dev/null; then
  step "$page" sh <<<"promtool check rules $root/Documentation/Monitoring/Alerts.yaml" 3</dev/null
fi
