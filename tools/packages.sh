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

# debian_system TAR [PACKAGE,...]
#
# Makes a Debian 12 with some packages, once, whose apt reaches the archive as this system's
# does. As in Debian's images for containers that are called slim, dpkg leaves out manuals
# and translations.
debian_system() {
    [ ! -e "$1" ] || return 0
    command -v mmdebstrap >/dev/null || apt_install "what makes a Debian system" mmdebstrap
    say "making a Debian 12${2:+ with $2}, 150 to 400 MB; it takes a minute or more"
    mkdir -p "$(dirname "$1")"
    apt-config dump | grep '^Acquire::' | grep -v '^Acquire::IndexTargets' >"$1.apt"
    mmdebstrap --quiet --mode=root --variant=minbase ${2:+--include="$2"} \
        --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
        --aptopt="$1.apt" --aptopt='Acquire::Languages "none"' bookworm "$1.new.tar"
    rm "$1.apt"
    mv "$1.new.tar" "$1"
}
