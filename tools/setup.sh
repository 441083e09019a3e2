#!/bin/sh
# Installs missing tools for building and testing gpujoin on Debian 12.  If
# nothing is missing it returns at once.  It starts no server, and neither
# creates nor changes Debian's default cluster.
set -eu

unset GOROOT CDPATH
root=$(cd "$(dirname "$0")/.." && pwd)
requirements=$root/tools/requirements.txt

me=setup
# shellcheck source=tools/packages.sh
. "$root/tools/packages.sh"
# shellcheck source=tools/wheels.sh
. "$root/tools/wheels.sh"

# PG_CONFIG in the environment selects another installation of PostgreSQL.
pg_config=${PG_CONFIG:-/usr/lib/postgresql/15/bin/pg_config}

server_there() { [ -x "$("$pg_config" --bindir 2>/dev/null)/postgres" ]; }
headers_there() { [ -e "$("$pg_config" --includedir-server 2>/dev/null)/postgres.h" ]; }

# The server's package creates and starts a cluster unless a setting forbids it;
# restores that setting afterwards.
install_server() {
    conf=/etc/postgresql-common/createcluster.conf
    apt_install "PostgreSQL's cluster tools" postgresql-common
    as_root cp -p "$conf" "$conf.gpujoin"
    trap 'as_root mv "$conf.gpujoin" "$conf"' EXIT
    as_root sed -i 's/^#* *create_main_cluster.*/create_main_cluster = false/' "$conf"
    grep -q '^create_main_cluster = false' "$conf" ||
        echo 'create_main_cluster = false' | as_root tee -a "$conf" >/dev/null
    apt_install "PostgreSQL 15" postgresql-15
    as_root mv "$conf.gpujoin" "$conf"
    trap - EXIT
}

install_go() {
    grep -q '^VERSION_CODENAME=bookworm' /etc/os-release ||
        die "no Go 1.21 or newer; install one from https://go.dev/dl/"
    if ! apt-cache policy 2>/dev/null | grep -q bookworm-backports; then
        echo "deb http://deb.debian.org/debian bookworm-backports main" |
            as_root tee /etc/apt/sources.list.d/bookworm-backports.list >/dev/null
        updated=
    fi
    apt_install "Go" -t bookworm-backports golang-go
}

# tpchgen-cli is TPC-H's dbgen as one program inside a Python wheel; Python is
# not needed to run it.
fetch_tpchgen() {
    say "fetching the TPC-H generator"
    fetched=$(mktemp -d)
    trap 'rm -rf "$fetched"' EXIT
    fetch_wheels "$requirements" "$fetched"
    mkdir -p "$root/build/bin"
    chmod 755 "$fetched"/*/scripts/tpchgen-cli
    mv "$fetched"/*/scripts/tpchgen-cli "$root/build/bin/tpchgen-cli"
    rm -rf "$fetched"
    trap - EXIT
}

server_there || install_server
headers_there || apt_install "PostgreSQL's headers" postgresql-server-dev-15
command -v gcc >/dev/null || apt_install "the C compiler" gcc libc6-dev
# nvcc and the tests that run kernels on the host need it.
command -v g++ >/dev/null || apt_install "the C++ compiler" g++
[ -e /usr/include/stdio.h ] || apt_install "the C library's headers" libc6-dev
command -v shellcheck >/dev/null || apt_install "shellcheck" shellcheck
[ -e /etc/ssl/certs/ca-certificates.crt ] || apt_install "certificates" ca-certificates
command -v python3 >/dev/null || apt_install "Python" python3 python3-pip
"$root/tools/find-go.sh" >/dev/null || install_go
[ -x "$root/build/bin/tpchgen-cli" ] || fetch_tpchgen

go=$("$root/tools/find-go.sh") || die "no Go 1.21 or newer"
(cd "$root" && GOTOOLCHAIN=auto "$go" version >/dev/null) ||
    die "$go cannot fetch the toolchain that go.mod asks for"
