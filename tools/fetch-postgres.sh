#!/bin/sh
# fetch-postgres.sh headers|source VERSION
#
# Prints the directory of the server's header files, or of the source, of a major
# version of PostgreSQL.  It fetches Debian's package if build/postgres lacks it.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
me=fetch-postgres
# shellcheck source=tools/packages.sh
. "$root/tools/packages.sh"

[ $# -eq 2 ] || die "usage: fetch-postgres.sh headers|source VERSION"
what=$1 version=$2
case $version in
15) suite=bookworm ;;
17) suite=trixie ;;
18) suite=forky ;;
*) die "PostgreSQL $version is none of 15, 17, 18" ;;
esac

unpacked=$root/build/postgres/$what-$version
headers=$unpacked/usr/include/postgresql/$version/server
mkdir -p "$root/build/postgres"
exec 8>"$root/build/postgres/$what-$version.lock"
flock 8
if [ ! -e "$unpacked" ]; then
    fetched=$(mktemp -d "$root/build/postgres/fetch.XXXXXX")
    trap 'rm -rf "$fetched"' EXIT
    mkdir -m 755 "$fetched/unpacked"
    case $what in
    headers)
        "$root/tools/fetch-debian.sh" "$suite" deb "postgresql-server-dev-$version" "$fetched" >&2
        dpkg-deb -x "$fetched"/*.deb "$fetched/unpacked"
        # A newer Debian's C library has strlcpy, this system's may not.
        sed -i -E 's/^(#define HAVE_DECL_STRLC(PY|AT)) 1/\1 0/' \
            "$fetched/unpacked/usr/include/postgresql/$version/server/pg_config.h"
        ;;
    source)
        command -v bzip2 >/dev/null || apt_install "bzip2" bzip2
        "$root/tools/fetch-debian.sh" "$suite" deb-src "postgresql-$version" "$fetched" >&2
        tar -x -j -f "$fetched"/*.orig.tar.bz2 --strip-components=1 -C "$fetched/unpacked"
        ;;
    *) die "what is $what?" ;;
    esac
    mv "$fetched/unpacked" "$unpacked"
fi
if [ "$what" = headers ]; then
    echo "$headers"
else
    echo "$unpacked"
fi
