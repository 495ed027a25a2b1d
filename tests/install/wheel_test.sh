#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the wheel in a clean Debian or Ubuntu with nothing but python3, and measures arrays there:
#   sudo tests/install/wheel_test.sh FOLDER [SUITE] [WHEEL]
# FOLDER becomes a minimal system (debootstrap of SUITE, default bookworm; noble is Ubuntu 24.04), or is one already, and
# is kept. WHEEL: default that of build/wheel for its version of Python, or for all from 3.12 on. NumPy comes with pip.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$(realpath -m "$1")
suite=${2:-bookworm}
wheel=${3:-}

if [ "${LIME_WHEEL_TEST:-}" != inside ]; then
  [ "$(id -u)" -eq 0 ] || { echo "wheel_test: must run as root; start it with sudo"; exit 1; }
  exec env LIME_WHEEL_TEST=inside unshare --mount --propagation private "$PWD/tests/install/wheel_test.sh" "$@"
fi
fail() {
  echo "wheel_test: $*"
  exit 1
}

if [ ! -e "$folder/usr/bin/python3" ]; then
  debootstrap --variant=minbase --include=python3-venv,ca-certificates "$suite" "$folder" >"$folder.log" 2>&1 ||
    { tail -n 20 "$folder.log"; fail "debootstrap failed"; }
fi
cp -L /etc/resolv.conf "$folder/etc/resolv.conf"
mount -t proc proc "$folder/proc"
mount --rbind /dev "$folder/dev"
inside() { chroot "$folder" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 "$@"; }

version=$(inside python3 -c 'import sys; print(f"cp{sys.version_info[0]}{sys.version_info[1]}")')
if [ -z "$wheel" ]; then
  for tag in "$version" abi3; do
    for candidate in build/wheel/lime_toolkit-*"$tag"*.whl; do wheel=${wheel:-$candidate}; done
    [ -s "$wheel" ] || wheel=
  done
fi
[ -s "$wheel" ] || fail "there is no wheel of $version in build/wheel; run scripts/package.sh --wheel"
rm -rf "$folder/srv/wheel"
mkdir -p "$folder/srv/wheel"
cp "$wheel" "$folder/srv/wheel/"
[ -e /etc/pip.conf ] && cp -L /etc/pip.conf "$folder/etc/pip.conf"
certificates=/etc/ssl/certs/ca-certificates.crt
[ -e "$certificates" ] && cp -L "$certificates" "$folder$certificates"

cat >"$folder/srv/wheel/trial.py" <<'PYTHON'
import numpy as np
import lime_toolkit as lt

# Numbers that every machine makes alike.
rows = np.sin(np.arange(4 * 64 * 128, dtype=np.float64)).astype(np.float32).reshape(4, 64, 128)
rows += np.linspace(-1, 1, 128, dtype=np.float32)
capture = lt.Capture.from_arrays({"hidden": [rows, rows**2]}, tokens=np.zeros((4, 64), np.int64))
for layer, one in lt.entropy(capture, preset="raw").items():
    print("entropy", layer[1], " ".join(f"{x:.12f}" for x in np.ravel(one.values)))
print("rank", f"{lt.geometry(capture['hidden', 0]).participation_ratio:.12f}")
capture.save("/srv/wheel/run.h5")
assert np.array_equal(lt.Capture("/srv/wheel/run.h5")["hidden", 1][:], capture["hidden", 1][:])
PYTHON
start=$(date +%s%N)
inside bash -c "python3 -m venv /srv/wheel/venv && /srv/wheel/venv/bin/pip install --quiet /srv/wheel/*.whl" ||
  fail "pip install failed"
for level in baseline x86-64-v3; do
  [ -d "$(echo "$folder"/srv/wheel/venv/lib/python3*/site-packages/lime_toolkit)/levels/$level" ] || continue
  echo "$level:"
  inside env LIME_PROCESSOR_LEVEL=$level /srv/wheel/venv/bin/python /srv/wheel/trial.py || fail "the trial failed"
  echo "from pip install to the table: $((($(date +%s%N) - start) / 1000000)) ms"
  inside env LIME_PROCESSOR_LEVEL=$level /srv/wheel/venv/bin/lime-metrics entropy /srv/wheel/run.h5 --preset raw
  rm "$folder/srv/wheel/run.h5"
done
