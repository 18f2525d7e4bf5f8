#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 the HTTPCacheEngine authors

# Installs, starts, reloads, upgrades, removes and purges the Debian package in a fresh Debian that systemd has booted. It needs root,
# debootstrap and systemd-nspawn, and the packages of Debian from where this machine gets its own.
#
#   scripts/package-test.sh [BINARY]
set -euo pipefail
cd "$(dirname "$0")/.."

[ "$(id -u)" = 0 ] || { echo "the test of the package needs root" >&2; exit 1; }
for tool in debootstrap systemd-nspawn nsenter; do
  command -v "$tool" >/dev/null || { echo "$tool is missing: install debootstrap and systemd-container" >&2; exit 1; }
done
dist=$SCRATCH/package/dist
work=$(mktemp -d)
machine=$work/machine
nspawn=
finish() {
  local status=$?
  [ "$status" = 0 ] || in_machine journalctl --no-pager -u httpcache -n 60 2>/dev/null || true
  [ -z "$nspawn" ] || { kill "$nspawn" 2>/dev/null; wait "$nspawn" 2>/dev/null; } || true
  rm -rf "$work"
  exit "$status"
}
trap finish EXIT

in_machine() { (cd / && nsenter --target "$leader" --all --root --wd -- "$@"); }
say() { echo "== $*"; }
# Fails unless a command succeeds within 30 seconds.
eventually() {
  for _ in $(seq 300); do
    if "$@" >/dev/null 2>&1; then return; fi
    sleep 0.1
  done
  echo "failed: $*" >&2
  "$@"
  return 1
}
get() { in_machine curl -sS --max-time 10 -D - "$@"; }
# Fails unless the answer to a request has a text.
answers() {
  local text=$1
  shift
  get "$@" 2>&1 | grep -qF -- "$text" || { echo "no '$text' in:" >&2; get "$@" >&2; return 1; }
}
process() { in_machine systemctl show --property MainPID --value httpcache; }
is_active() { in_machine systemctl --quiet is-active httpcache; }

# MARK: Two packages and a machine

PACKAGE_VERSION=0.0.1 bash scripts/package.sh "$@" >/dev/null
mkdir "$work/old"
mv "$dist"/*.deb "$work/old/"
bash scripts/package.sh "$@"
new=$(echo "$dist"/httpcache_*.deb)
old=$(echo "$work/old"/httpcache_*.deb)

say "a fresh Debian"
# The release and the place of this machine.
# shellcheck disable=SC1091
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
mirror=$(sed -n 's/^URIs: *//p; s/^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*\) .*/\2/p' \
  /etc/apt/sources.list.d/*.sources /etc/apt/sources.list 2>/dev/null | head -1 || true)
[ -n "$mirror" ] || { echo "no place of packages in /etc/apt" >&2; exit 1; }
debootstrap --variant=minbase --include=systemd,systemd-sysv,adduser,curl,logrotate "$suite" "$machine" "$mirror" >"$work/log" ||
  { tail -20 "$work/log"; exit 1; }
# Before it boots, as it then has no network.
chroot "$machine" apt-get -qq satisfy -y --no-install-recommends "$(dpkg-deb -f "$new" Depends)" >"$work/log" 2>&1 ||
  { tail -20 "$work/log"; exit 1; }
cp "$old" "$new" "$machine/root/"
old=/root/${old##*/} new=/root/${new##*/}
cat >"$machine/root/origin.pl" <<'PERL'
use IO::Socket::INET;
my $server = IO::Socket::INET->new(LocalAddr => "127.0.0.1:8000", Listen => 64, ReuseAddr => 1) or die $!;
while (my $client = $server->accept) {
  while (<$client>) { last if /^\r?$/ }
  print $client "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello\n";
  close $client;
}
PERL
systemd-nspawn --quiet --directory "$machine" --register=no --keep-unit --private-network --boot >"$work/console" 2>&1 &
nspawn=$!
leader=
for _ in $(seq 100); do
  leader=$(pgrep -P "$nspawn" -x systemd || true)
  [ -z "$leader" ] || break
  sleep 0.1
done
booted() { in_machine systemctl is-system-running | grep -qE "running|degraded"; }
eventually booted
in_machine systemd-run --quiet --unit=origin perl /root/origin.pl

# MARK: The life of the package

say "install, and start"
in_machine dpkg -i "$old"
eventually is_active
answers "hello" http://127.0.0.1:8080/
answers "; hit" http://127.0.0.1:8080/
answers "ready" http://127.0.0.1:9090/ready
in_machine systemctl is-enabled httpcache
in_machine getent passwd httpcache
[ "$(in_machine stat -c %U "/proc/$(process)")" = httpcache ]
[ "$(in_machine stat -c '%a %U %G' /etc/httpcache/proxy.yaml)" = "640 root httpcache" ]
[ "$(in_machine stat -c '%a %U' /var/cache/httpcache)" = "700 httpcache" ]
in_machine test -s /usr/share/man/man1/httpcache-proxy.1.gz
in_machine httpcache proxy --config /etc/httpcache/proxy.yaml --check

say "restart: what is stored stays"
in_machine systemctl restart httpcache
answers "; hit" http://127.0.0.1:8080/

say "reload: another port, below 1024, and another process"
before=$(process)
in_machine sed -i 's/^listen: .*/listen: 0.0.0.0:80/' /etc/httpcache/proxy.yaml
in_machine systemctl reload httpcache
eventually answers "; hit" http://127.0.0.1/
replaced() { [ "$(process)" != "$before" ] && is_active; }
eventually replaced

say "rotation of the access log"
in_machine logrotate --force /etc/logrotate.d/httpcache
answers "; hit" http://127.0.0.1/
eventually in_machine grep -q '"GET / HTTP' /var/log/httpcache/access.log
in_machine test -s /var/log/httpcache/access.log.1

say "upgrade under requests"
before=$(process)
in_machine sh -c 'while [ ! -e /root/stop ]; do curl -s -o /dev/null -w "%{http_code}\n" http://127.0.0.1/ || echo failed; done >/root/codes' &
client=$!
in_machine dpkg -i "$new"
replaced
answers "; hit" http://127.0.0.1/
in_machine touch /root/stop
wait "$client"
in_machine sort /root/codes | uniq -c
[ "$(in_machine sort -u /root/codes)" = 200 ]
in_machine grep -q '^listen: 0.0.0.0:80$' /etc/httpcache/proxy.yaml
[ "$(in_machine dpkg-query -W -f '${Version}' httpcache)" = "$(dpkg-deb -f "$dist"/httpcache_*.deb Version)" ]

say "the process that took the place fails: systemd starts the service again"
before=$(process)
in_machine sh -c "kill -KILL $before"
eventually replaced
eventually answers "; hit" http://127.0.0.1/

say "a new program that does not start: the old one serves on until the service restarts"
in_machine sed -i 's/^listen: .*/listen: nowhere/' /etc/httpcache/proxy.yaml
! in_machine systemctl reload httpcache
is_active
before=$(process)
in_machine dpkg -i "$new"
[ "$(process)" = "$before" ]
answers "; hit" http://127.0.0.1/
in_machine sed -i 's/^listen: .*/listen: 127.0.0.1:8080/' /etc/httpcache/proxy.yaml

say "remove, and install again"
in_machine dpkg -r httpcache
stopped() { ! is_active; }
stopped
in_machine test -e /etc/httpcache/proxy.yaml -a ! -e /usr/bin/httpcache
in_machine dpkg -i "$new"
eventually is_active
eventually answers "; hit" http://127.0.0.1:8080/

say "purge"
in_machine dpkg -P httpcache
stopped
for path in /etc/httpcache /var/cache/httpcache /var/log/httpcache /lib/systemd/system/httpcache.service \
  /etc/systemd/system/multi-user.target.wants/httpcache.service /usr/bin/httpcache /usr/share/doc/httpcache; do
  ! in_machine test -e "$path" -o -L "$path" || { echo "$path is left" >&2; exit 1; }
done

say "the package can be installed, started, reloaded, upgraded, removed and purged"
