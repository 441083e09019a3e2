#!/bin/sh
# build-postgres.sh VERSION [asserts]
#
# Builds a major version of PostgreSQL from Debian's source for tests, and prints
# the path of its pg_config.  With "asserts", the server checks its assertions.
# A server that build/postgres has is not built again.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
me=build-postgres
# shellcheck source=tools/packages.sh
. "$root/tools/packages.sh"

[ $# -ge 1 ] || die "usage: build-postgres.sh VERSION [asserts]"
version=$1 variant=${2:-}
case $variant in
'') flags="-O2" options= ;;
asserts) flags="-O1 -g" options=--enable-cassert ;;
*) die "there is no variant $variant" ;;
esac

installed=$root/build/postgres/$version${variant:+-$variant}
mkdir -p "$root/build/postgres"
exec 7>"$installed.lock"
flock 7
if [ ! -e "$installed/complete" ]; then
    missing=
    command -v gcc >/dev/null || missing="gcc libc6-dev"
    command -v flex >/dev/null || missing="$missing flex"
    command -v bison >/dev/null || missing="$missing bison"
    perl -MIPC::Open3 -e 1 2>/dev/null || missing="$missing perl"
    command -v pkg-config >/dev/null || missing="$missing pkg-config"
    [ -e /usr/include/unicode/ucol.h ] || missing="$missing libicu-dev"
    [ -e /usr/include/zlib.h ] || missing="$missing zlib1g-dev"
    [ -e /usr/include/libxml2/libxml/parser.h ] || missing="$missing libxml2-dev"
    # shellcheck disable=SC2086 # a list
    [ -z "$missing" ] || apt_install "what builds PostgreSQL" $missing

    source=$("$root/tools/fetch-postgres.sh" source "$version")
    say "building PostgreSQL $version${variant:+ with $variant}: some minutes"
    objects=$(mktemp -d "$root/build/postgres/objects.XXXXXX")
    trap 'rm -rf "$objects"' EXIT
    rm -rf "$installed"
    cd "$objects"
    (
        # shellcheck disable=SC2086 # options may be empty
        "$source/configure" --quiet --prefix="$installed" --with-icu --with-libxml --without-readline $options CFLAGS="$flags"
        # Clears the job slots and flags of a make that started this program.
        unset MAKEFLAGS MFLAGS MAKELEVEL
        make -s -j"$(nproc)"
        make -s install
        make -s -C contrib/file_fdw install
    ) >build.log 2>&1 || {
        tail -30 build.log >&2
        die "PostgreSQL $version does not build"
    }
    touch "$installed/complete"
fi
echo "$installed/bin/pg_config"
