#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the Debian packages lime and lime-dev in build/package. The programs are built for any
# x86-64 CPU and for two higher levels; launchers in /usr/bin select one at run time.
#   scripts/package.sh [LEVEL...]      # x86-64-v3 x86-64-v4; none: baseline only
#   scripts/package.sh --wheel [LEVEL...] # only the wheel of the Python package: packaging/wheel/wheel.sh
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "${1:-}" = "--wheel" ]; then
  shift
  exec packaging/wheel/wheel.sh "$@"
fi

levels=("$@")
if [ $# -eq 0 ]; then levels=(x86-64-v3 x86-64-v4); fi
if [ "${levels[*]}" = "none" ]; then levels=(); fi
jobs=${LIME_JOBS:-$(nproc)}
programs=(lime-capture lime-eval lime-explorer lime-figure lime-generate lime-metrics lime-train
  lime_sentencepiece lime-trial-read)

for tool in dpkg-shlibdeps file; do
  command -v "$tool" >/dev/null || {
    echo "package: needs $tool; install Debian's packages dpkg-dev and file" >&2
    exit 1
  }
done

configure() {
  cmake --preset release -B "$1" -DLIME_NATIVE=OFF -DLIME_PROCESSOR_LEVEL="$2" \
    -DCMAKE_INSTALL_PREFIX=/usr -DLIME_BUILD_TESTS=OFF -DLIME_BUILD_BENCHMARKS=OFF >"$1.log" 2>&1 ||
    { tail -n 20 "$1.log"; exit 1; }
}

mkdir -p build
builds=()
for level in "${levels[@]}"; do
  configure "build/package-$level" "$level"
  ninja -C "build/package-$level" -j "$jobs" "${programs[@]}" >>"build/package-$level.log" 2>&1 ||
    { tail -n 20 "build/package-$level.log"; exit 1; }
  builds+=("$PWD/build/package-$level")
done
configure build/package baseline
ninja -C build/package -j "$jobs" >>build/package.log 2>&1 || { tail -n 20 build/package.log; exit 1; }
cd build/package
cpack -G DEB -D LIME_LEVEL_BUILDS="$(IFS=';'; echo "${builds[*]}")" >>../package.log 2>&1 ||
  { tail -n 20 ../package.log; exit 1; }
ls -1 "$PWD"/*.deb
