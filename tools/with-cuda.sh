#!/bin/sh
# Runs a command with what building the packages of tag cuda needs: a CUDA
# toolkit in PATH, and cgo's flags for it.  Usage:
#
#   tools/with-cuda.sh go vet -tags cuda ./joincore/cuda/...
#
# The driver's library is not needed: programs are linked against an empty one
# of its name, and find the real one where they run.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
CUDA_HOME=$("$root/tools/find-cuda.sh")

stub=$root/build/cuda/stub
if [ ! -e "$stub/libcuda.so" ]; then
    mkdir -p "$stub"
    new=$(mktemp "$stub/new.XXXXXX")
    ${CC:-cc} -shared -nostdlib -Wl,-soname,libcuda.so.1 -o "$new" -x c /dev/null
    mv "$new" "$stub/libcuda.so"
fi

# include13 comes first: it puts back what CUDA 13 renamed.
export CUDA_HOME
export PATH="$CUDA_HOME/bin:$PATH"
export CGO_ENABLED=1
export CGO_CFLAGS="-O2 -I$root/joincore/cuda/driver/include13 -I$CUDA_HOME/include"
export CGO_LDFLAGS="-L$stub -Wl,--unresolved-symbols=ignore-all"
export GOFLAGS="-buildvcs=false ${GOFLAGS:-}"
exec "$@"
