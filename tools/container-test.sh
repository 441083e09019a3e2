#!/bin/sh
# container-test.sh
#
# Builds the image of packaging/container/Dockerfile and tries it (container-steps.sh) with
# podman, which needs no daemon. It asks no registry: the images that the Dockerfile begins
# with are made of Debian's packages, once, as build/chroot/bookworm.tar. GOPROXY and
# certificates are this system's. Needs root. Images, containers and volumes are apart from
# the system's own, below build/container; they and all processes end with this script.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
me=container-test
# shellcheck source=tools/packages.sh
. "$root/tools/packages.sh"

[ "$(id -u)" -eq 0 ] || die "containers of their own need root"
command -v podman >/dev/null || apt_install "what builds and runs containers" podman crun
base=$root/build/chroot/bookworm.tar
debian_system "$base"

mkdir -p "$root/build/container" /run/crun /var/lib/containers
store=$(mktemp -d "$root/build/container/run.XXXXXX")
# The paths of podman's sockets must be short.
state=$(mktemp -d /tmp/XXXXXX)
group=gpujoin-${state#/tmp/}
finish() {
    rm -rf "$store"
    rmdir "$state"
    rmdir --ignore-fail-on-non-empty /run/crun /var/lib/containers
    # Control groups of the containers.
    find /sys/fs/cgroup -depth -type d -path "*/$group*" -exec rmdir {} +
}
trap finish EXIT
trap 'exit 130' INT TERM

# shellcheck disable=SC2016  # the inner shell expands it
unshare --mount --pid --fork --kill-child --ipc --uts sh -eu -c '
    mount -t proc proc /proc
    for directory in /dev/shm /run/crun /var/lib/containers "$3"; do
        mount -t tmpfs tmpfs "$directory"
    done
    # crun refuses to choose between two versions of control groups.
    umount /sys/fs/cgroup/unified 2>/dev/null || true
    exec sh "$1/tools/container-steps.sh" "$2" "$3" "$4" "$5"
' sh "$root" "$store" "$state" "$base" "$group"
