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

mkdir -p "$root/build/container"
store=$(mktemp -d "$root/build/container/run.XXXXXX")
# The paths of podman's sockets must be short.
state=$(mktemp -d /tmp/XXXXXX)
trap 'rm -rf "$store"; rmdir "$state"' EXIT

# shellcheck disable=SC2016  # the inner shell expands it
unshare --mount --pid --fork --kill-child --ipc --uts sh -eu -c '
    mount -t proc proc /proc
    mount -t tmpfs tmpfs /dev/shm
    mount -t tmpfs tmpfs "$3"
    # crun refuses to choose between two versions of control groups.
    umount /sys/fs/cgroup/unified 2>/dev/null || true
    exec sh "$1/tools/container-steps.sh" "$2" "$3" "$4"
' sh "$root" "$store" "$state" "$base"
