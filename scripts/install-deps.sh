#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the build dependencies from Debian packages (12 or newer). Prints nothing if all are present.
set -euo pipefail

packages=(
  build-essential cmake ninja-build ccache pkg-config
  libtorch-dev libgloo-dev libopenblas-openmp-dev libopenblas0-openmp
  libeigen3-dev libspectra-dev libfaiss-dev libhdf5-dev zlib1g-dev
  libsentencepiece-dev libpcre2-dev libutf8proc-dev libyaml-cpp-dev
  libcli11-dev libfmt-dev nlohmann-json3-dev libssl-dev
  qt6-base-dev qt6-svg-dev libqcustomplot-dev fonts-liberation
  libgtest-dev libgmock-dev libbenchmark-dev
)
# Needed by the checks only: the linters, Clang with libFuzzer, h5py as a second reader of the files, a
# virtual display, mpirun, which starts several processes, jq for the commands of docs/, Doxygen for the site, and
# Chromium, which opens reports.
test_packages=(chromium clang-format clang-tidy clang libclang-rt-dev jq python3 python3-dev python3-venv python3-numpy python3-h5py hdf5-tools xvfb openmpi-bin doxygen)
if [ "${1:-}" = "--tests" ]; then packages+=("${test_packages[@]}"); fi

if ! command -v dpkg-query >/dev/null; then
  echo "install-deps: this is not Debian; install the equivalents of these packages manually and run again:" >&2
  echo "  ${packages[*]}" >&2
  exit 1
fi

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = "installed" ] || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || {
    echo "install-deps: these packages are missing; ask an administrator to install them:" >&2
    echo "  apt-get install ${missing[*]}" >&2
    exit 1
  }
  as_root=(sudo)
fi
echo "Installing ${#missing[@]} Debian packages: ${missing[*]}"
log=$(mktemp)
if ! { "${as_root[@]}" apt-get update && "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
  tail -n 20 "$log" >&2
  echo "install-deps: apt-get failed; the last lines are above, the full log is in $log" >&2
  exit 1
fi
rm -f "$log"
