#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Configures and builds build/release; quiet unless something fails.
#   scripts/build.sh [TARGET...]
set -euo pipefail
cd "$(dirname "$0")/.."

build=build/release
mkdir -p "$build"
log=$build/build.log

fail() {
  grep -nE 'error|Error|FAILED' "$log" | head -n 10 >&2 || true
  echo "build: $1; the full log is in $log" >&2
  exit 1
}

options=(-DLIME_WERROR=${LIME_WERROR:-OFF})
[ -n "${LIME_TEST_DATA:-}" ] && options+=("-DLIME_TEST_DATA=$LIME_TEST_DATA")
cmake --preset release "${options[@]}" >"$log" 2>&1 || fail "CMake could not configure"

# One compiler process needs up to 1.5 GB on LibTorch's headers.
memory_jobs=$(awk '/MemAvailable/ { jobs = int($2 / 1500000); print jobs < 1 ? 1 : jobs }' /proc/meminfo)
cores=$(nproc)
jobs=$((memory_jobs < cores ? memory_jobs : cores))

if [ -t 1 ]; then
  # Show the status of ninja in one line that is redrawn.
  NINJA_STATUS='Building [%f/%t] ' ninja -C "$build" -j "$jobs" "$@" 2>&1 |
    tee -a "$log" | awk '/^Building \[/ { printf "\r%.70s\033[K", $0; fflush() } END { printf "\r\033[K" }' \
    || fail "the build failed"
else
  ninja -C "$build" -j "$jobs" "$@" >>"$log" 2>&1 &
  ninja_pid=$!
  trap 'kill "$ninja_pid" 2>/dev/null || true' INT TERM
  seconds=0
  while kill -0 "$ninja_pid" 2>/dev/null; do
    sleep 1
    seconds=$((seconds + 1))
    if [ $((seconds % 60)) -eq 0 ]; then
      echo "Building $(grep -oE '^\[[0-9]+/[0-9]+\]' "$log" | tail -n 1) after $((seconds / 60)) min"
    fi
  done
  wait "$ninja_pid" || fail "the build failed"
fi
