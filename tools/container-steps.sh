#!/bin/sh
# container-steps.sh STORE STATE BASE GROUP
#
# The steps of container-test.sh. STORE is for images and volumes, STATE, a short path, for
# what lasts as long as processes do; both are empty. BASE is a Debian as an archive, and GROUP
# the control group of the containers. Each step prints a line when it has passed.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
store=$1 state=$2 base=$3 group=$4
image=gpujoin box=server volume=data
began=$(date +%s) last=$began

step() {
    now=$(date +%s)
    printf '  %-72s %4d s\n' "$1" $((now - last))
    last=$now
}
fail() {
    echo "container-test: $*" >&2
    podman logs --tail 30 "$box" >&2 || true
    exit 1
}

# Containers' layers are overlays if this file system can have them, otherwise copies.
mkdir "$store/lower" "$store/upper" "$store/work" "$store/merged"
driver=vfs
if mount -t overlay overlay -o "lowerdir=$store/lower,upperdir=$store/upper,workdir=$store/work" "$store/merged" 2>/dev/null; then
    umount "$store/merged"
    driver=overlay
fi
podman() {
    command podman --root "$store/images" --runroot "$state/run" --tmpdir "$state/tmp" --storage-driver "$driver" \
        --cgroup-manager cgroupfs --events-backend none "$@"
}
# Health checks run when this script asks for them; podman needs systemd to run them by itself.
export DISABLE_HC_SYSTEMD=true

# run ARGUMENT...: podman run without a network, and with 2 GB if this system can limit that.
limited=true
run() {
    if "$limited"; then
        podman run --network none --cgroup-parent "/$group" --memory 2g "$@"
    else
        podman run --network none --cgroups disabled "$@"
    fi
}
# start [OPTION...]: a container of the image, whose data are in the volume.
start() {
    run --detach --name "$box" --log-driver k8s-file --shm-size 1g \
        --volume "$volume:/var/lib/postgresql/data" "$@" "$image" >/dev/null
}
# stop: SIGTERM ends the container in good order, with an open session, too.
stop() {
    podman exec "$box" psql -X -q -c "SELECT pg_sleep(600)" >/dev/null 2>&1 &
    sleep 1
    before=$(date +%s)
    podman stop --time 60 "$box" >/dev/null
    took=$(($(date +%s) - before))
    [ "$took" -lt 15 ] || fail "the container took $took s to end"
    [ "$(podman inspect --format '{{.State.ExitCode}}' "$box")" = 0 ] || fail "SIGTERM ends the container with an error"
    podman logs "$box" 2>&1 | grep -q "database system is shut down" || fail "the server did not shut down in good order"
}
sql() { podman exec "$box" psql -X -q -A -t -v ON_ERROR_STOP=1 "$@"; }
# running: waits until the extension finds the daemon.
running() {
    for _ in $(seq 300); do
        [ "$(sql -c "SELECT daemon FROM gpujoin.status()" 2>/dev/null)" != running ] || return 0
        sleep 0.2
    done
    fail "$1: the databases do not find the daemon"
}
pid() { podman exec "$box" head -n 1 /run/gpujoin/gpujoind.sock.lock; }
healthy() { podman healthcheck run "$box" >/dev/null; }

# shellcheck source=tools/offload-check.sh
. "$root/tools/offload-check.sh"

for name in debian:bookworm debian:bookworm-slim; do
    podman import --quiet "$base" "docker.io/library/$name" >/dev/null
done
step "images of Debian 12 from its packages"

# Go modules come from where this system's Go has them from.
proxy=${GOPROXY:-}
[ -n "$proxy" ] || ! go=$("$root/tools/find-go.sh") || proxy=$("$go" env GOPROXY)
# Certificates that this system trusts and Debian's package does not have.
trusted=${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}
ca=
[ ! -e "$trusted" ] || ca=$(find /usr/share/ca-certificates -name '*.crt' -exec cat {} + |
    awk -v RS='-----END CERTIFICATE-----\n*' 'NR == FNR { seen[$0] = 1; next } /BEGIN/ && !($0 in seen) { print $0 "-----END CERTIFICATE-----" }' - "$trusted")
podman build --quiet --cgroup-parent "/$group" --pull-never --layers=false --format docker --network host --file "$root/packaging/container/Dockerfile" --tag "$image" \
    --build-arg CA="$ca" ${proxy:+--build-arg GOPROXY="$proxy"} "$root" >"$store/build.log" 2>&1 || {
    tail -n 40 "$store/build.log" >&2
    fail "the image does not build"
}
step "the image builds"

run --rm --entrypoint true "$image" 2>/dev/null || limited=false

said=$(run --rm "$image" 2>&1) && fail "a cluster starts without a password"
case $said in
*"set POSTGRES_PASSWORD"*) ;;
*) fail "a start without a password says: $said" ;;
esac
step "without POSTGRES_PASSWORD, it refuses to make a cluster"

start --env POSTGRES_PASSWORD=secret
running "the first start"
step "server and daemon start"

[ "$(podman exec --env PGPASSWORD=secret "$box" psql -X -A -t -w -h 127.0.0.1 -c "SELECT 1")" = 1 ] || fail "the password is refused"
! podman exec --env PGPASSWORD=other "$box" psql -X -w -h 127.0.0.1 -c "SELECT 1" >/dev/null 2>&1 || fail "any password is accepted"
! podman logs "$box" 2>&1 | grep -q secret || fail "the log has the password"
step "TCP sessions need the password, which is in no log"

sql -c "CREATE DATABASE shop"
for database in postgres template1 shop; do
    [ "$(sql -d $database -c "SELECT daemon FROM gpujoin.status()")" = running ] || fail "database $database has no extension"
done
step "all databases have the extension, new ones, too"

make_tables
offloaded "the first start"
step "a join is offloaded, its rows are right"

healthy || fail "the health check fails: $(podman exec "$box" gpujoind check 2>&1)"
if "$limited"; then
    said=$(podman exec "$box" gpujoind check)
    case $said in
    *"the budget of the running daemon is 51"?" MB of 20"??" MB"*) ;;
    *) fail "the daemon does not see the memory limit of 2 GB: $said" ;;
    esac
    step "it is healthy, and its budget is a quarter of the container's memory"
else
    step "it is healthy; this system cannot limit a container's memory"
fi

first=$(pid)
podman exec "$box" sh -c "kill -STOP $first"
! healthy || fail "the health check passes although the daemon does not answer"
podman exec "$box" sh -c "kill -KILL $first"
[ "$(sql -c "$join")" = "$expected" ] || fail "a query fails while the daemon is down"
running "after the daemon's end"
[ "$(pid)" != "$first" ] || fail "the killed daemon is still there"
offloaded "after the daemon's end"
healthy || fail "the health check fails after the daemon's end"
step "a daemon that hangs is unhealthy; one that was killed starts again"

stop
step "SIGTERM ends it with exit status 0"

podman rm "$box" >/dev/null
start
running "with the same data"
offloaded "with the same data"
step "a new container has the data of the volume, and needs no password"

podman kill --signal KILL "$box" >/dev/null
podman wait "$box" >/dev/null
podman start "$box" >/dev/null
running "after SIGKILL"
offloaded "after SIGKILL"
step "a container that was killed starts again"

stop
podman rm "$box" >/dev/null
echo "container-test: built and tried the image in $(($(date +%s) - began)) s"
