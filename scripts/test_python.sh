#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the Python package in a virtual environment under build/ and runs its tests. Extra arguments
# go to pytest. The tests that compare with the programs need build/release/bin (scripts/build.sh).
#   scripts/test_python.sh             metrics, captures, results, examples without PyTorch
#   scripts/test_python.sh --torch     also the recorder: downloads PyTorch, 5 GB when installed
#   scripts/test_python.sh --download  only downloads what --torch needs, e.g. during a build
# Exits with 3 and one line if the packages cannot be installed; packages that are present are kept, so
# later runs need no network. LIME_DOWNLOAD_SECONDS (2400) limits the download.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(scikit-build-core nanobind numpy h5py pandas matplotlib pytest)
mode=${1:-}
if [[ $mode =~ ^--(torch|download)$ ]]; then
  packages+=(-r python/tests/requirements-recorder.txt)
  shift
fi
venv=build/python-venv
log=build/python.log
mkdir -p build
# Two runs that install into one environment would damage it.
exec 9>"$venv.lock"
flock 9

# install: what was downloaded before a connection broke is in pip's cache
install() {
  python3 -m venv "$venv" || return
  local end=$((SECONDS + ${LIME_DOWNLOAD_SECONDS:-2400}))
  for _ in 1 2 3; do
    [ "$SECONDS" -lt "$end" ] || break
    timeout $((end - SECONDS)) "$venv/bin/pip" install --quiet "${packages[@]}" && return
  done
  return 1
}
if ! install >"$log" 2>&1; then
  echo "test_python: the packages cannot be installed (see $log); the Python tests did not run" >&2
  exit 3
fi
[ "$mode" = "--download" ] && exit 0
# Otherwise its tests would be skipped.
if [ "$mode" = "--torch" ] && ! "$venv/bin/python" -c "import accelerate, torch, transformers" >"$log" 2>&1; then
  tail -n 5 "$log" >&2
  echo "test_python: PyTorch or transformers cannot be imported; the recorder cannot be tested" >&2
  exit 1
fi
if ! "$venv/bin/pip" install --no-build-isolation . >"$log" 2>&1; then
  grep -nE 'error|Error' "$log" | head -n 10 >&2 || tail -n 10 "$log" >&2
  echo "test_python: the package could not be built; the full log is in $log" >&2
  exit 1
fi
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-2} OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}
"$venv/bin/pytest" -q -rs python/tests "$@"
