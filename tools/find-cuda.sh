#!/bin/sh
# Prints the directory of a CUDA toolkit, 12 or 13: CUDA_HOME, the one whose nvcc
# is in PATH, /usr/local/cuda, or the one that make cuda-toolkit downloaded.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)

toolkit() { [ -x "$1/bin/nvcc" ] && [ -e "$1/include/cuda.h" ]; }

if [ -n "${CUDA_HOME:-}" ]; then
    if toolkit "$CUDA_HOME"; then
        echo "$CUDA_HOME"
        exit 0
    fi
    echo "CUDA_HOME=$CUDA_HOME holds no toolkit: no bin/nvcc or no include/cuda.h" >&2
    exit 1
fi
in_path=$(command -v nvcc || true)
for dir in \
    ${in_path:+"$(dirname "$(dirname "$(readlink -f "$in_path")")")"} \
    /usr/local/cuda \
    "$root/build/cuda/tk/nvidia/cu13"; do
    if toolkit "$dir"; then
        echo "$dir"
        exit 0
    fi
done
cat >&2 <<'END'
no CUDA toolkit: neither CUDA_HOME, nor nvcc in PATH, nor /usr/local/cuda.
Install NVIDIA's toolkit, version 12 or 13, or fetch its compiler alone
(100 MB, into build/cuda) with: make cuda-toolkit
END
exit 1
