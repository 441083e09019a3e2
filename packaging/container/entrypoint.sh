#!/bin/sh
# Runs PostgreSQL and gpujoind until the server ends, as the user postgres. An empty PGDATA
# becomes a cluster with the extension in all databases, whose superuser postgres has the
# password POSTGRES_PASSWORD. Arguments are the server's.
set -eu

if [ ! -s "$PGDATA/PG_VERSION" ]; then
    [ -n "${POSTGRES_PASSWORD:-}" ] || {
        echo "entrypoint: set POSTGRES_PASSWORD to the password of the new cluster's superuser" >&2
        exit 1
    }
    secret=$(mktemp)
    printf '%s\n' "$POSTGRES_PASSWORD" >"$secret"
    initdb --pgdata="$PGDATA" --username=postgres --pwfile="$secret" --auth-local=trust --auth-host=scram-sha-256
    rm "$secret"
    echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
    printf "listen_addresses = '*'\nsession_preload_libraries = 'gpujoin'\n" >>"$PGDATA/postgresql.conf"
    for database in template1 postgres; do
        echo "CREATE EXTENSION gpujoin" | postgres --single -j -D "$PGDATA" "$database" >/dev/null
    done
fi
# The processes need no secret.
unset POSTGRES_PASSWORD

# The server starts first: in a container that was killed, no other process may have the
# process id of the server before, or PostgreSQL takes it for one that still runs.
postgres -D "$PGDATA" "$@" &
server=$!
# The server ends its sessions and stops; jobs end with their sessions.
trap 'kill -INT "$server"' TERM INT
# A daemon that ends starts again; meanwhile queries run natively.
while :; do
    gpujoind serve || true
    sleep 1
done &
loop=$!
code=0
wait "$server" || code=$?
# A signal ends wait before the server has ended.
while kill -0 "$server" 2>/dev/null; do
    code=0
    wait "$server" || code=$?
done
daemon=$(head -n 1 /run/gpujoin/gpujoind.sock.lock 2>/dev/null || true)
kill "$loop" 2>/dev/null || true
[ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true
exit "$code"
