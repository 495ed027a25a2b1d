#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the programs for a GPU machine without network and packs them: bench/gpu/run.py unpacks them
# there. docs/gpus.md explains the whole way.
#   bench/gpu/pack.sh [TORCH]      TORCH: the version that the GPU machine has, 2.11.0 if not given
# Writes build/gpu-kit/kit.tar.xz and build/gpu-kit/MANIFEST. Needs pip and 8 GB; 10 minutes on two cores.
set -euo pipefail
cd "$(dirname "$0")/../.."

version=${1:-2.11.0}
level=${LIME_PROCESSOR_LEVEL:-x86-64-v3} # of the other machine's processor
wheel=build/gpu-torch-$version
build=build/gpu
kit=build/gpu-kit
programs=(lime-capture lime-metrics lime-train lime-generate lime-eval lime_cuda_tests
  lime-bench-forward lime-bench-step lime-bench-entropy)

# The wheel is unpacked, not installed: the CUDA libraries that it names are the GPU machine's, except
# those without which libtorch_cuda.so cannot be loaded at all while tests are listed.
if [ ! -e "$wheel/complete" ]; then
  rm -rf "$wheel"
  mkdir -p "$wheel"
  python3 -m pip download -q --no-deps --only-binary=:all: "torch==$version" -d "$wheel"
  (cd "$wheel" && python3 -m zipfile -e torch-*.whl . && rm torch-*.whl)
  python3 -m pip install -q --no-deps --target "$wheel/cuda" nvidia-cufile nvidia-cusparselt-cu13 \
    nvidia-nvshmem-cu13
  touch "$wheel/complete"
fi
torch=$PWD/$wheel/torch
# Where the programs find their libraries here; run.py sets the folders of the GPU machine.
LD_LIBRARY_PATH=$torch/lib:$(find "$PWD/$wheel/cuda" -name '*.so.*' -printf '%h\n' | sort -u | paste -sd:)
export LD_LIBRARY_PATH

cmake --preset release -B "$build" -DLIME_WERROR="${LIME_WERROR:-OFF}" -DLIME_NATIVE=OFF \
  -DLIME_PROCESSOR_LEVEL="$level" -DTorch_DIR="$torch/share/cmake/Torch" >"$build.log" 2>&1 ||
  { tail -n 20 "$build.log" >&2; exit 1; }
ninja -C "$build" "${programs[@]}" >>"$build.log" 2>&1 ||
  { grep -nE 'error|FAILED' "$build.log" | head >&2; exit 1; }

rm -rf "$kit"
mkdir -p "$kit/tree/bin" "$kit/tree/lib/lime"
for program in "${programs[@]}"; do strip -o "$kit/tree/bin/$program" "$build/bin/$program"; done
for module in "$build"/lib/lime/*; do
  if [ -f "$module" ]; then strip -o "$kit/tree/lib/lime/${module##*/}" "$module"; fi
done

# Every shared library that the programs load goes along, except the C and C++ runtime, which only
# gets newer, and PyTorch with CUDA, which are the GPU machine's own.
theirs='/(ld-linux-x86-64|libc|libm|libdl|librt|libpthread|libresolv|libgcc_s|libstdc\+\+)\.so'
theirs+='|/lib(torch|c10|caffe2|shm|nv|nccl|cuda|cu(blas|dnn|fft|file|pti|rand|solver|sparse))[^/]*\.so'
for file in "$kit"/tree/bin/* "$kit"/tree/lib/lime/*; do ldd "$file"; done |
  awk '/=> \// { print $3 }' | sort -u | grep -vE "$theirs" | grep -vF "$torch" |
  while read -r library; do strip -o "$kit/tree/lib/${library##*/}" "$library"; done

{
  echo "commit $(git rev-parse HEAD), torch $version, processor $level, $(date -u +%F)"
  (cd "$kit/tree" && find . -type f -printf '%s %P\n' | sort -k2)
} >"$kit/MANIFEST"
cp "$kit/MANIFEST" "$kit/tree/MANIFEST"
tar -C "$kit/tree" -cf - . | xz -T0 -6 >"$kit/kit.tar.xz"
rm -rf "$kit/tree"
size=$(stat -c %s "$kit/kit.tar.xz")
echo "$kit/kit.tar.xz: $((size >> 20)) MiB"
if [ "$size" -gt $((30 << 20)) ]; then
  echo "pack: the kit must not be larger than 30 MiB; drop programs from the list" >&2
  exit 1
fi
