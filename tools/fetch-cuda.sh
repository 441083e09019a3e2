#!/bin/sh
# Downloads the compiler and the headers of NVIDIA's CUDA toolkit into
# build/cuda/tk.  They are Python wheels, each verified by its checksum; Python
# is not needed to use them.  If they are present, it returns at once.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
requirements=$root/tools/cuda-requirements.txt
toolkit=$root/build/cuda/tk
stamp=$toolkit/requirements.sha256

die() {
    echo "cuda-toolkit: $*" >&2
    exit 1
}

sum=$(sha256sum <"$requirements")
if [ -x "$toolkit/nvidia/cu13/bin/nvcc" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$sum" ]; then
    exit 0
fi
[ "$(uname -m)" = x86_64 ] || die "the pinned wheels are for x86_64; install NVIDIA's toolkit and set CUDA_HOME"

for python in python3 /usr/bin/python3; do
    "$python" -m pip --version >/dev/null 2>&1 && break
    [ "$python" = python3 ] || die "python3 -m pip does not work; make setup installs it"
done

echo "cuda-toolkit: fetching CUDA 13.0's compiler, 100 MB"
mkdir -p "$root/build/cuda"
fetched=$(mktemp -d "$root/build/cuda/fetch.XXXXXX")
trap 'rm -rf "$fetched"' EXIT
mkdir "$fetched/wheels" "$fetched/tk"
"$python" -m pip download --quiet --no-deps --only-binary :all: --require-hashes \
    -r "$requirements" -d "$fetched/wheels" ||
    die "the wheels of tools/cuda-requirements.txt cannot be fetched: is the package index (PyPI) reachable? Without it, install NVIDIA's toolkit and set CUDA_HOME"
for wheel in "$fetched"/wheels/*.whl; do
    "$python" -m zipfile -e "$wheel" "$fetched/tk"
done
# zipfile does not restore file modes.
chmod -R u+rwX,go+rX "$fetched/tk"
find "$fetched/tk/nvidia/cu13/bin" "$fetched/tk/nvidia/cu13/nvvm/bin" -type f -exec chmod 755 {} +
"$fetched/tk/nvidia/cu13/bin/nvcc" --version >/dev/null || die "the fetched nvcc does not run"
echo "$sum" >"$fetched/tk/requirements.sha256"
rm -rf "$toolkit"
mv "$fetched/tk" "$toolkit"
