#!/bin/sh
# install.sh install|uninstall
#
# Installs what make compile has built, or removes it again. The environment has
# PG_CONFIG, DESTDIR, BINDIR, UNITDIR and MANDIR. It downloads and compiles nothing.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
files=$root/build/files

extension() {
    MAKEFLAGS='' make --no-print-directory -s -C "$root/fdw" "$1" PG_CONFIG="$PG_CONFIG" DESTDIR="$DESTDIR"
}

case $1 in
install)
    if [ ! -x "$root/build/bin/gpujoind" ] || [ ! -d "$files" ] || [ ! -e "$root/fdw/gpujoin.so" ]; then
        echo "install: nothing is built; run make compile first, as a plain user" >&2
        exit 1
    fi
    extension install
    install -D -m 755 "$root/build/bin/gpujoind" "$DESTDIR$BINDIR/gpujoind"
    # gpujoind finds its worker in its own directory.
    if [ -e "$root/build/cuda/out/bin/gpujoin-cuda" ]; then
        install -D -m 755 "$root/build/cuda/out/bin/gpujoin-cuda" "$DESTDIR$BINDIR/gpujoin-cuda"
    fi
    install -d "$DESTDIR$MANDIR/man8"
    install -m 644 "$files"/man/*.8 "$DESTDIR$MANDIR/man8"
    # Without systemd there is nobody to read units.
    if [ -d "$UNITDIR" ] || [ -n "$DESTDIR" ]; then
        install -d "$DESTDIR$UNITDIR"
        install -m 644 "$files"/units/* "$DESTDIR$UNITDIR"
    fi
    # A configuration that somebody has changed stays.
    if [ ! -e "$DESTDIR/etc/gpujoin/gpujoind.toml" ]; then
        install -D -m 644 "$files/gpujoind.toml" "$DESTDIR/etc/gpujoin/gpujoind.toml"
    fi
    ;;
uninstall)
    extension uninstall
    rm -f "$DESTDIR$BINDIR/gpujoind" "$DESTDIR$BINDIR/gpujoin-cuda" \
        "$DESTDIR$UNITDIR/gpujoind.service" "$DESTDIR$UNITDIR/gpujoind@.service" \
        "$DESTDIR$MANDIR"/man8/gpujoind.8 "$DESTDIR$MANDIR"/man8/gpujoind-*.8
    ;;
*)
    echo "usage: install.sh install|uninstall" >&2
    exit 2
    ;;
esac
