#!/bin/sh
# Downloads the compiler and the headers of NVIDIA's CUDA toolkit into
# build/cuda/tk.  They are Python wheels, each verified by its checksum; Python
# is not needed to use them.  If they are present, it returns at once.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
requirements=$root/tools/cuda-requirements.txt
toolkit=$root/build/cuda/tk
stamp=$toolkit/requirements.sha256

me=cuda-toolkit
# shellcheck source=tools/packages.sh
. "$root/tools/packages.sh"
# shellcheck source=tools/wheels.sh
. "$root/tools/wheels.sh"

sum=$(sha256sum <"$requirements")
if [ -x "$toolkit/nvidia/cu13/bin/nvcc" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$sum" ]; then
    exit 0
fi
[ "$(uname -m)" = x86_64 ] || die "the pinned wheels are for x86_64; install NVIDIA's toolkit and set CUDA_HOME"

say "fetching CUDA 13.0's compiler, 100 MB; without PyPI, install NVIDIA's toolkit and set CUDA_HOME"
mkdir -p "$root/build/cuda"
fetched=$(mktemp -d "$root/build/cuda/fetch.XXXXXX")
trap 'rm -rf "$fetched"' EXIT
mkdir "$fetched/tk"
fetch_wheels "$requirements" "$fetched/tk"
find "$fetched/tk/nvidia/cu13/bin" "$fetched/tk/nvidia/cu13/nvvm/bin" -type f -exec chmod 755 {} +
"$fetched/tk/nvidia/cu13/bin/nvcc" --version >/dev/null || die "the fetched nvcc does not run"
echo "$sum" >"$fetched/tk/requirements.sha256"
rm -rf "$toolkit"
mv "$fetched/tk" "$toolkit"
