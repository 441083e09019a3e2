#!/bin/sh
# deb-test.sh
#
# Installs, updates, removes and purges the packages of build/deb for PostgreSQL 15 in a
# fresh Debian 12 in a directory, with queries in between (tools/deb-steps.sh). The system
# itself is made once, as build/chroot/bookworm-15.tar. Needs root. Its processes have
# names of their own (namespaces) and end with this script.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
me=deb-test
# shellcheck source=tools/packages.sh
. "$root/tools/packages.sh"

[ "$(id -u)" -eq 0 ] || die "a system in a directory needs root"
version=$(cat "$root/version/VERSION")
base=$root/build/chroot/bookworm-15.tar
debian_system "$base" postgresql-15

system=$(mktemp -d "$root/build/chroot/run.XXXXXX")
trap 'rm -rf "$system"' EXIT
chmod 755 "$system"
tar -xpf "$base" -C "$system" --exclude='./dev/*'
rm -f "$system"/etc/dpkg/dpkg.cfg.d/*mmdebstrap # our packages keep their manual
mkdir "$system/packages" "$system/packages/before"
cp "$root"/build/deb/gpujoind_*.deb "$root"/build/deb/postgresql-15-gpujoin_*.deb "$system/packages" ||
    die "there are no packages; run make deb"

# The version before: the same programs with another version, and with the objects of 0.1.
for package in "$system"/packages/*.deb; do
    unpacked=$system/packages/unpacked
    dpkg-deb -R "$package" "$unpacked"
    sed -i "s/$version-/0.1-/" "$unpacked/DEBIAN/control"
    extension=$unpacked/usr/share/postgresql/15/extension
    if [ -d "$extension" ]; then
        rm "$extension"/gpujoin--*.sql
        cp "$root/tests/e2e/testdata/gpujoin--0.1.sql" "$extension"
        sed -i "s/^default_version.*/default_version = '0.1'/" "$extension/gpujoin.control"
    fi
    dpkg-deb -b "$unpacked" "$system/packages/before" >/dev/null
    rm -rf "$unpacked"
done
cp "$root/tools/deb-steps.sh" "$root/tools/offload-check.sh" "$root/packaging/container/entrypoint.sh" "$system/packages"

# shellcheck disable=SC2016  # the inner shell expands it
unshare --mount --pid --fork --kill-child --net --ipc --uts sh -eu -c '
    mount --make-rprivate /
    mount -t proc proc "$1/proc"
    mount --rbind /dev "$1/dev"
    mount -t tmpfs tmpfs "$1/dev/shm"
    hostname packages
    ip link set lo up 2>/dev/null || true
    exec chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 sh /packages/deb-steps.sh "$2"
' sh "$system" "$version"
