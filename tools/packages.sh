# Functions for scripts that install Debian's packages; the script sets $me, its
# name in messages.  To be sourced, not run.
# shellcheck shell=sh

: "${me:?}"

say() { echo "$me: $*" >&2; }
die() {
    say "$*"
    exit 1
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        env DEBIAN_FRONTEND=noninteractive "$@"
    elif [ -t 0 ]; then
        sudo env DEBIAN_FRONTEND=noninteractive "$@"
    else
        sudo -n env DEBIAN_FRONTEND=noninteractive "$@"
    fi
}

# apt_install WHAT_FOR PACKAGE...
apt_install() {
    what=$1
    shift
    command -v apt-get >/dev/null ||
        die "$what is missing; install what Debian calls: $*"
    [ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null ||
        die "$what is missing, and this is neither root nor is there sudo; as root, run: apt-get install $*"
    say "installing $what: $*"
    if [ -z "${updated:-}" ]; then
        as_root apt-get -q -q update
        updated=yes
    fi
    as_root apt-get -q -q -y --no-install-recommends install "$@" >/dev/null
}
