#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 the HTTPCacheEngine authors

# Writes SCRATCH/package/dist: a Debian package of httpcache, a tar archive, a container file for the package, and their checksums.
# The same commit and tools write the same bytes.
#
#   scripts/package.sh [BINARY]
#
# BINARY is a stripped httpcache. PACKAGE_VERSION replaces the version that it reports.
set -euo pipefail
cd "$(dirname "$0")/.."

binary=${1:-"$SCRATCH/package/release/httpcache"}
for tool in dpkg-deb dpkg-shlibdeps gzip sha256sum; do
  command -v "$tool" >/dev/null || { echo "$tool is missing: install dpkg-dev, gzip and coreutils" >&2; exit 1; }
done
version=${PACKAGE_VERSION:-$("$binary" --version)}
architecture=$(dpkg --print-architecture)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH
dist=$SCRATCH/package/dist
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$dist"
dist=$(cd "$dist" && pwd)
rm -f "$dist"/*

# MARK: The files

root=$work/root
install -D -m 755 "$binary" "$root/usr/bin/httpcache"
install -D -m 644 Packaging/httpcache.service "$root/lib/systemd/system/httpcache.service"
install -D -m 640 Packaging/proxy.yaml "$root/etc/httpcache/proxy.yaml"
install -D -m 644 Packaging/logrotate "$root/etc/logrotate.d/httpcache"
for page in Documentation/man/*.1; do
  install -D -m 644 "$page" "$root/usr/share/man/man1/${page##*/}"
  gzip -9n "$root/usr/share/man/man1/${page##*/}"
done
# The manual for operators, with its own links.
doc=$root/usr/share/doc/httpcache
install -d "$doc/Operating" "$doc/Monitoring"
install -m 644 Documentation/Operating.md "$doc/"
install -m 644 Documentation/Operating/*.md "$doc/Operating/"
install -m 644 Documentation/Monitoring/* "$doc/Monitoring/"
install -m 644 CHANGELOG.md "$doc/changelog"
gzip -9n "$doc/changelog"
{
  printf 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n'
  printf 'Upstream-Name: HTTPCacheEngine\n\nFiles: *\nCopyright: 2026 the HTTPCacheEngine authors\nLicense: Apache-2.0\n'
  printf ' On Debian systems, the text of the license is in /usr/share/common-licenses/Apache-2.0.\n'
} >"$doc/copyright"
chmod 644 "$doc/copyright"

# MARK: The Debian package

mkdir -p "$work/source/debian"
printf 'Source: httpcache\n\nPackage: httpcache\nArchitecture: any\n' >"$work/source/debian/control"
depends=$(cd "$work/source" && dpkg-shlibdeps -O -e"$root/usr/bin/httpcache" 2>/dev/null | sed -n 's/^shlibs:Depends=//p')
[ -n "$depends" ] || { echo "dpkg-shlibdeps finds no package of the libraries that $binary needs" >&2; exit 1; }
mkdir "$root/DEBIAN"
sed -e "s/@VERSION@/$version/" -e "s/@ARCHITECTURE@/$architecture/" -e "s/@DEPENDS@/$depends/" \
  -e "s/@SIZE@/$(du -sk --exclude=DEBIAN "$root" | cut -f1)/" Packaging/debian/control >"$root/DEBIAN/control"
install -m 755 Packaging/debian/postinst Packaging/debian/prerm Packaging/debian/postrm "$root/DEBIAN/"
printf '/etc/httpcache/proxy.yaml\n/etc/logrotate.d/httpcache\n' >"$root/DEBIAN/conffiles"
(cd "$root" && find usr lib -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --root-owner-group -Zxz --build "$root" "$dist/httpcache_${version}_$architecture.deb" >/dev/null

# MARK: The archive

name=httpcache-$version-linux-$(uname -m)
mkdir "$work/$name"
cp -a "$root/usr/bin" "$root/usr/share" "$work/$name/"
install -m 644 Packaging/httpcache.service Packaging/proxy.yaml Packaging/logrotate LICENSE "$work/$name/"
find "$work/$name" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -c "$name" |
  gzip -9n >"$dist/$name.tar.gz"

install -m 644 Packaging/Containerfile "$dist/"
(cd "$dist" && sha256sum -- *.deb *.tar.gz Containerfile >SHA256SUMS)
(cd "$dist" && wc -c -- *.deb *.tar.gz && cat SHA256SUMS)
echo "$dist"
