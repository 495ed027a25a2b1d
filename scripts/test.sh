#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the dependencies, builds and runs all tests. Extra arguments go to ctest:
#   scripts/test.sh -L unit        only the tests with that label (unit, golden, slow, cuda)
#   scripts/test.sh -R Entropy     only the tests whose name matches
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-deps.sh --tests
scripts/build.sh
export QT_QPA_PLATFORM=${QT_QPA_PLATFORM:-offscreen}
# Tests run in parallel, so each uses two threads, which sleep while they wait.
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-2} OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}
ctest --test-dir build/release --output-on-failure --progress -j "$(nproc)" "$@"
