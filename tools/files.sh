#!/bin/sh
# files.sh BINDIR DIRECTORY
#
# Writes what is installed beside the programs, which will be in BINDIR, into a
# directory: units of systemd, a configuration file, manual pages. GO is the Go command.
set -eu

[ $# -eq 2 ] || {
    echo "usage: files.sh BINDIR DIRECTORY" >&2
    exit 2
}
root=$(cd "$(dirname "$0")/.." && pwd)
bindir=$1 directory=$2
rm -rf "$directory"
mkdir -p "$directory/units" "$directory/man"

"$root/tools/units.sh" "$bindir" "$directory/units"
"$root/build/bin/gpujoind" config --state-dir /var/lib/gpujoin >"$directory/gpujoind.toml"
# The pages have a date.
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
    SOURCE_DATE_EPOCH=$(git -c safe.directory='*' -C "$root" log -1 --format=%ct 2>/dev/null) ||
        SOURCE_DATE_EPOCH=$(stat -c %Y "$root/CHANGELOG.md")
    export SOURCE_DATE_EPOCH
fi
(cd "$root" && CGO_ENABLED=0 "${GO:-go}" run -trimpath -buildvcs=false ./cmd/manual "$directory/man")
