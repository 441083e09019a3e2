#!/bin/sh
# deb.sh PG_CONFIG...
#
# Makes Debian packages in build/deb: the daemon, the extension for each server, and the
# worker for GPUs if make cuda has built it. make compile comes first. GO is the Go
# command, NFPM the packager. The maintainer of a package is who builds it: MAINTAINER,
# or as for Debian's own tools DEBFULLNAME and DEBEMAIL, or the current user. HOMEPAGE is
# where the package comes from; without it, there is no such field.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
go=${GO:-go}
out=$root/build/deb
stage=$out/stage
version=$(cat "$root/version/VERSION")
release=${RELEASE:-1}
user=$(id -un)
maintainer=${MAINTAINER:-${DEBFULLNAME:-$user} <${DEBEMAIL:-$user@$(uname -n)}>}
homepage=${HOMEPAGE:-}
arch=$(dpkg --print-architecture)

rm -rf "$out"
mkdir -p "$stage/bin" "$stage/doc"

# Debian's changelog of a package has the release; ours says what it contains.
describe() {
    mkdir -p "$stage/doc/$1"
    printf '%s (%s-%s) unstable; urgency=medium\n\n  * Release %s: see changelog.gz.\n\n -- %s  %s\n' \
        "$1" "$version" "$release" "$version" "$maintainer" "$(date -R -u -d "@$SOURCE_DATE_EPOCH")" |
        gzip -9n >"$stage/doc/$1/changelog.Debian.gz"
}

# The C library that a file needs.
libc() {
    printf 'libc6 (>= %s)' "$(objdump -T "$1" | sed -n 's/.*GLIBC_\([0-9.]*\).*/\1/p' | sort -V | tail -n 1)"
}

# pack TEMPLATE [SUBSTITUTION...]
pack() {
    template=$1
    shift
    sed -e "s|@ROOT@|$root|g" -e "s|@STAGE@|$stage|g" -e "s|@VERSION@|$version|g" -e "s|@RELEASE@|$release|g" \
        -e "s|@ARCH@|$arch|g" -e "s|@MAINTAINER@|$maintainer|g" -e "s|@HOMEPAGE@|$homepage|g" -e '/^homepage: *$/d' "$@" \
        "$root/packaging/deb/$template.yaml" >"$stage/$template.yaml"
    # It writes errors to standard output.
    said=$("$NFPM" package --packager deb --config "$stage/$template.yaml" --target "$out") || {
        echo "deb: $said" >&2
        exit 1
    }
}

if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
    SOURCE_DATE_EPOCH=$(git -c safe.directory='*' -C "$root" log -1 --format=%ct 2>/dev/null) ||
        SOURCE_DATE_EPOCH=$(stat -c %Y "$root/CHANGELOG.md")
fi
export SOURCE_DATE_EPOCH

{
    cat "$root/packaging/deb/copyright"
    sed -n '/^Permission/,$p' "$root/LICENSE" | sed -e 's/^$/./' -e 's/^/ /'
} >"$stage/doc/copyright"
gzip -9nc "$root/CHANGELOG.md" >"$stage/doc/changelog.gz"

echo "packing gpujoind"
(cd "$root" && CGO_ENABLED=0 "$go" build -trimpath -buildvcs=false -ldflags='-s -w' -o "$stage/bin/gpujoind" ./cmd/gpujoind)
GO=$go "$root/tools/files.sh" /usr/bin "$stage/files"
gzip -9n "$stage"/files/man/*.8
# The licences of the modules that are linked into the program.
(cd "$root" && "$go" version -m "$stage/bin/gpujoind" | awk '$1 == "dep" { print $2 }' | while read -r module; do
    echo "==== $module"
    cat "$("$go" list -m -f '{{.Dir}}' "$module")"/LICENSE*
done) | gzip -9n >"$stage/doc/licenses.gz"
describe gpujoind
pack gpujoind

for pg_config in "$@"; do
    major=$("$pg_config" --version | sed 's/^PostgreSQL \([0-9]*\).*/\1/')
    name=postgresql-$major-gpujoin
    echo "packing $name"
    mkdir -p "$root/build/fdw/deb-$major"
    for target in all install; do
        MAKEFLAGS='' make --no-print-directory -s -C "$root/build/fdw/deb-$major" -f "$root/fdw/Makefile" \
            "$target" PG_CONFIG="$pg_config" DESTDIR="$stage/pg-$major" >/dev/null
    done
    libdir=$("$pg_config" --pkglibdir) sharedir=$("$pg_config" --sharedir)
    strip --strip-unneeded "$stage/pg-$major$libdir/gpujoin.so"
    describe "$name"
    pack postgresql-gpujoin -e "s|@MAJOR@|$major|g" -e "s|@LIBDIR@|$libdir|g" -e "s|@SHAREDIR@|$sharedir|g" \
        -e "s|@LIBC@|$(libc "$stage/pg-$major$libdir/gpujoin.so")|"
done

if [ -e "$root/build/cuda/out/bin/gpujoin-cuda" ]; then
    echo "packing gpujoin-cuda"
    cp "$root/build/cuda/out/bin/gpujoin-cuda" "$stage/bin"
    describe gpujoin-cuda
    pack gpujoin-cuda -e "s|@LIBC@|$(libc "$stage/bin/gpujoin-cuda")|"
fi
rm -rf "$stage"
du -h "$out"/*.deb
