# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 the HTTPCacheEngine authors

# shellcheck shell=bash
file /etc/httpcache.yaml | sed "s#/var/cache/httpcache#$work/cache#" >"$work/httpcache.yaml"
replace "s#/etc/httpcache.yaml#$work/httpcache.yaml#; s#/var/log/httpcache#$work#; s#@urls.txt#@$work/urls.txt#"
# The other tests need all traits: one build serves them all.
replace 's/--traits CommandLine/--enable-all-traits/'
skip '^systemctl' 'needs systemd'
# There may be more than one process of the name.
# shellcheck disable=SC2016 # for the page's command
replace 's/\$(pidof httpcache)/$!/'
background '^[^ ]*httpcache proxy' 8080
command -v jq >/dev/null || skip 'jq ' 'jq is not installed'
origin 8000
export TOKEN=token
echo http://example.com/style.css >"$work/urls.txt"
# The page's last proxy has no admin port, and does not trust this machine; the commands that purge need both.
replace 's/--trust 10.0.0.0.8 .*/& --trust 127.0.0.1 --admin 127.0.0.1:9090/'
