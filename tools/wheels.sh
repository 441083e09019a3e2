# Functions for scripts that use programs from Python wheels; tools/packages.sh
# comes first.  To be sourced, not run.
# shellcheck shell=sh

find_pip() {
    for python in python3 /usr/bin/python3; do
        if "$python" -m pip --version >/dev/null 2>&1; then
            return 0
        fi
    done
    return 1
}

# fetch_wheels REQUIREMENTS DIRECTORY [OPTION...]
#
# Downloads wheels, each verified by its checksum, and unpacks them into an
# existing directory.  The options are pip's.  Unpacking makes no file executable.
fetch_wheels() {
    list=$1 into=$2
    shift 2
    find_pip || apt_install "pip" python3-pip
    find_pip || die "python3 -m pip does not work"
    wheels=$(mktemp -d "$into/wheels.XXXXXX")
    "$python" -m pip download --quiet --no-deps --only-binary :all: --require-hashes \
        "$@" -r "$list" -d "$wheels" ||
        die "the wheels of ${list##*/} cannot be fetched: is the package index (PyPI) reachable?"
    for wheel in "$wheels"/*.whl; do
        "$python" -m zipfile -e "$wheel" "$into"
    done
    rm -rf "$wheels"
    chmod -R u+rwX,go+rX "$into"
}
