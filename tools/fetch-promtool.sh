#!/bin/sh
# Fetches promtool, which checks alert rules, from Debian's package of Prometheus
# into build/bin.  Nothing is installed.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
fetched=$(mktemp -d)
trap 'rm -rf "$fetched"' EXIT
"$root/tools/fetch-debian.sh" bookworm deb prometheus "$fetched"
dpkg-deb -x "$fetched"/prometheus_*.deb "$fetched/unpacked"
mkdir -p "$root/build/bin"
mv "$fetched/unpacked/usr/bin/promtool" "$root/build/bin/promtool"
