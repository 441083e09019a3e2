#!/bin/sh
# deb-steps.sh VERSION
#
# The steps of deb-test.sh inside the system: it has PostgreSQL 15, and packages of VERSION
# and of the version before in /packages. There is no systemd, so daemon and server are
# started by hand, as the units do it.
set -eu

version=$1
step() { echo "  $*"; }
fail() {
    echo "deb-test: $*" >&2
    tail -n 20 /tmp/daemon.log /var/log/postgresql/*.log >&2 2>/dev/null || true
    exit 1
}
as_postgres() { setpriv --reuid=postgres --regid=postgres --init-groups -- "$@"; }
sql() { as_postgres psql -X -q -A -t -v ON_ERROR_STOP=1 -d shop "$@"; }

start_daemon() {
    install -d -o postgres -g postgres -m 0700 /run/gpujoin
    # The command of the unit that is installed.
    command=$(sed -n 's/^ExecStart=//p' /lib/systemd/system/gpujoind.service)
    # shellcheck disable=SC2086  # words of a command line
    setpriv --reuid=postgres --regid=postgres --init-groups -- $command >>/tmp/daemon.log 2>&1 &
    daemon=$!
    for _ in $(seq 300); do
        gpujoind check >/tmp/check 2>&1 && return
        sleep 0.1
    done
    cat /tmp/check
    fail "the daemon does not start"
}
stop_daemon() {
    kill "$daemon"
    wait "$daemon" || fail "the daemon ended with an error"
}

# shellcheck source=tools/offload-check.sh
. /packages/offload-check.sh
installed() { [ "$(dpkg-query -W -f '${Version}' gpujoind)" = "$1" ] || fail "gpujoind is not of version $1"; }

dpkg -s gpujoind >/dev/null 2>&1 && fail "gpujoind is there already"
find / -xdev -path /packages -prune -o -name '*gpujoin*' -print >/tmp/before
pg_ctlcluster 15 main start
as_postgres createdb shop
make_tables

step "install version 0.1"
dpkg -i /packages/before/*.deb >/tmp/dpkg 2>&1 || { cat /tmp/dpkg; fail "dpkg -i"; }
installed 0.1-1
sql -c "ALTER DATABASE shop SET session_preload_libraries = 'gpujoin'"
sql -c "CREATE EXTENSION gpujoin"
start_daemon
offloaded "version 0.1"
for _ in $(seq 600); do
    [ ! -e /var/lib/gpujoin/gpujoind.sock.rates ] || break
    sleep 0.1
done
[ -e /var/lib/gpujoin/gpujoind.sock.rates ] || fail "the daemon saves no rates in /var/lib/gpujoin"

step "a setting that was changed survives the update"
echo 'window = 8' >>/etc/gpujoin/gpujoind.toml
kill -HUP "$daemon"
for _ in $(seq 100); do
    grep -q 'configuration reloaded' /tmp/daemon.log && break
    sleep 0.1
done
grep -q 'need a restart.*window' /tmp/daemon.log || fail "SIGHUP does not reload the configuration"

step "update to $version"
dpkg --force-confold -i /packages/*.deb >/tmp/dpkg 2>&1 || { cat /tmp/dpkg; fail "dpkg -i"; }
installed "$version-1"
grep -q '^window = 8' /etc/gpujoin/gpujoind.toml || fail "the update replaced the configuration"
# New sessions load the new library.
offloaded "before ALTER EXTENSION"
stop_daemon
start_daemon
[ "$(sql -c "ALTER EXTENSION gpujoin UPDATE" -c "SELECT extversion FROM pg_extension WHERE extname = 'gpujoin'")" = "$version" ] ||
    fail "ALTER EXTENSION UPDATE does not lead to $version"
[ "$(sql -c "SELECT daemon || ' ' || version FROM gpujoin.status()")" = "running $version" ] || fail "gpujoin.status() is wrong"
offloaded "version $version"

step "programs and manual"
[ "$(gpujoind --version | cut -d, -f1)" = "gpujoind $version" ] || fail "gpujoind --version"
[ -e /usr/share/man/man8/gpujoind-serve.8.gz ] || fail "there is no manual page"
for package in gpujoind postgresql-15-gpujoin; do
    grep -q 'Permission to use, copy' /usr/share/doc/$package/copyright || fail "$package has no licence"
done

step "native plans while the daemon is down"
stop_daemon
[ "$(sql -c "$join")" = "$expected" ] || fail "a query fails without the daemon"

step "a new cluster by the container's entry point"
rm -f /run/gpujoin/*
setpriv --reuid=postgres --regid=postgres --init-groups -- env PATH="/usr/lib/postgresql/15/bin:$PATH" PGDATA=/tmp/container \
    POSTGRES_PASSWORD=secret /packages/entrypoint.sh --port=5433 >/tmp/container.log 2>&1 &
entry=$!
for _ in $(seq 300); do
    found=$(as_postgres psql -X -q -A -t -p 5433 -c "CREATE DATABASE container" -c "SELECT daemon FROM gpujoin.status()" 2>/dev/null) && [ "$found" = running ] && break
    as_postgres dropdb --if-exists -p 5433 container >/dev/null 2>&1 || true
    sleep 0.2
done
[ "$(as_postgres psql -X -q -A -t -p 5433 -d container -c "SELECT daemon FROM gpujoin.status()")" = running ] || {
    cat /tmp/container.log
    fail "the container's databases do not find the daemon"
}
kill "$entry"
wait "$entry" || fail "the container does not stop in good order"
! grep -q secret /tmp/container.log || fail "the container logs the password"

step "remove and purge"
sql -c "DROP EXTENSION gpujoin" -c "DROP SCHEMA gpujoin" -c "ALTER DATABASE shop RESET session_preload_libraries"
dpkg -r postgresql-15-gpujoin gpujoind >/tmp/dpkg 2>&1 || { cat /tmp/dpkg; fail "dpkg -r"; }
[ -e /etc/gpujoin/gpujoind.toml ] || fail "the removal deleted the configuration"
[ "$(sql -c "$join")" = "$expected" ] || fail "a query fails after the removal"
dpkg -P postgresql-15-gpujoin gpujoind >/tmp/dpkg 2>&1 || { cat /tmp/dpkg; fail "dpkg -P"; }
find / -xdev -path /packages -prune -o -name '*gpujoin*' -print >/tmp/after
cmp -s /tmp/before /tmp/after || fail "purged packages leave files: $(grep -vxFf /tmp/before /tmp/after)"
[ "$(sql -c "$join")" = "$expected" ] || fail "a query fails after the purge"
pg_ctlcluster 15 main stop
echo "deb-test: installed, updated from 0.1, removed, purged"
