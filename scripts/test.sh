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
# Two at a time: the tests of the decoders start threads of their own.
ctest --test-dir build/release --output-on-failure --progress -j "$(((($(nproc)) + 1) / 2))" "$@"
