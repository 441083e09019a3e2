#!/bin/sh
# Builds tests/duckdb into build/duckdb: the program, and next to it DuckDB's
# TPC-DS extension as a shared library.  DuckDB's Go module has the extension as a
# static library, whose symbols the program exports.  The extension that reads tables
# of PostgreSQL is fetched; its version must be that of DuckDB in tests/duckdb/go.mod.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
out=$root/build/duckdb
me=build-duckdb
# shellcheck source=tools/packages.sh
. "$root/tools/packages.sh"
# shellcheck source=tools/wheels.sh
. "$root/tools/wheels.sh"

# $1: the file that is missing.
fetch_scanner() {
    say "fetching DuckDB's reader of PostgreSQL's tables"
    fetched=$(mktemp -d)
    trap 'rm -rf "$fetched"' EXIT
    fetch_wheels "$root/tools/duckdb-requirements.txt" "$fetched"
    mv "$fetched"/duckdb_extension_postgres_scanner/extensions/*/postgres_scanner.duckdb_extension "$1"
    rm -rf "$fetched"
    trap - EXIT
}

[ "$(uname -m)" = x86_64 ] || {
    echo "build-duckdb: DuckDB's library in tests/duckdb/go.mod is for x86_64" >&2
    exit 1
}
mkdir -p "$out"
cd "$root/tests/duckdb"
go=$("$root/tools/find-go.sh")
[ -e "$out/duckdb-bench" ] || echo "building DuckDB's program: fetches 30 MB once"
CGO_ENABLED=1 "$go" build -trimpath -buildvcs=false -o "$out/duckdb-bench" .
libraries=$("$go" list -m -f '{{.Dir}}' github.com/duckdb/duckdb-go-bindings/lib/linux-amd64)
g++ -shared -fPIC -static-libstdc++ -o "$out/tpcds.so" \
    -Wl,--whole-archive "$libraries/libtpcds_extension.a" -Wl,--no-whole-archive \
    -Wl,--unresolved-symbols=ignore-all
scanner=$out/postgres_scanner.duckdb_extension
[ -e "$scanner" ] || fetch_scanner "$scanner"
