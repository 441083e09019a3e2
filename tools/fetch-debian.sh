#!/bin/sh
# fetch-debian.sh SUITE deb|deb-src PACKAGES DIRECTORY
#
# Downloads packages of any Debian release into a directory.  It uses lists of
# its own below build/apt, so this system's sources and packages are not touched.
# apt checks the archive's signature, but not its date: a mirror may be older than the
# lists of suites that change daily are valid.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
me=fetch-debian
# shellcheck source=tools/packages.sh
. "$root/tools/packages.sh"

[ $# -eq 4 ] || die "usage: fetch-debian.sh SUITE deb|deb-src PACKAGES DIRECTORY"
suite=$1 kind=$2 packages=$3 directory=$4
command -v apt-get >/dev/null || die "$packages of Debian $suite needs apt-get"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -e "$keyring" ] || apt_install "the archive's keys" debian-archive-keyring

state=$root/build/apt/$suite-$kind
mkdir -p "$state/lists/partial" "$state/archives/partial" "$directory"
# Two programs may need the same lists.
exec 9>"$state/lock"
flock 9
echo "$kind [signed-by=$keyring] http://deb.debian.org/debian $suite main" >"$state/sources.list"

apt() {
    apt-get -q -q -o Dir::State="$state" -o Dir::State::status=/dev/null \
        -o Acquire::Check-Valid-Until=false -o Dir::Cache="$state" -o Dir::Etc::sourcelist="$state/sources.list" \
        -o Dir::Etc::sourceparts=- -o APT::Sandbox::User=root -o Acquire::Languages=none \
        -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false \
        -o Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled=false "$@"
}

say "fetching $packages of Debian $suite"
apt update
cd "$directory"
# shellcheck disable=SC2086 # a list
if [ "$kind" = deb ]; then
    apt download $packages
else
    apt source --download-only $packages >/dev/null
fi
