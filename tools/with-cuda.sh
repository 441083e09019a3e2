#!/bin/sh
# Runs a command in the environment to build packages with the tag cuda: a CUDA
# toolkit in PATH, and cgo's flags for it.  Usage:
#
#   tools/with-cuda.sh go vet -tags cuda ./joincore/cuda/...
#
# The driver's library is not needed: programs are linked against a stub of the
# same name whose functions do nothing, and find the real library at run time.
# The stub has every function that cuda.h declares, because the linker drops a
# library from which a program uses nothing.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
CUDA_HOME=$("$root/tools/find-cuda.sh")

shim="-I$root/joincore/cuda/driver/include13 -I$CUDA_HOME/include"
stub=$root/build/cuda/stub
if [ ! -e "$stub/functions.c" ]; then
    mkdir -p "$stub"
    new=$(mktemp "$stub/new.XXXXXX")
    # shellcheck disable=SC2086  # shim is a list of options
    echo '#include <cuda.h>' | ${CC:-cc} -E $shim - | grep -oE '\bcu[A-Z][A-Za-z0-9_]*\(' | sort -u |
        sed 's/(.*/ /; s/.*/void &(void) {}/' >"$new.c"
    ${CC:-cc} -shared -nostdlib -Wl,-soname,libcuda.so.1 -o "$new" "$new.c"
    mv "$new" "$stub/libcuda.so"
    mv "$new.c" "$stub/functions.c"
fi

# include13 comes first: it puts back what CUDA 13 renamed.
export CUDA_HOME
export PATH="$CUDA_HOME/bin:$PATH"
export CGO_ENABLED=1
export CGO_CFLAGS="-O2 $shim"
export CGO_LDFLAGS="-L$stub"
export GOFLAGS="-buildvcs=false -trimpath ${GOFLAGS:-}"
exec "$@"
