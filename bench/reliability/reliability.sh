#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Reproduces docs/reliability.md: kills each program at random times, flips bytes, and makes the
# disk fail at every call.
#   bench/reliability/reliability.sh [BUILD_FOLDER]
#   LIME_KILLS=20 LIME_FLIPS=100 bench/reliability/reliability.sh build/release
set -euo pipefail
cd "$(dirname "$0")/../.."

build=${1:-build/release}
export LIME_KILLS=${LIME_KILLS:-200} LIME_FLIPS=${LIME_FLIPS:-1000} LIME_CALLS=${LIME_CALLS:-16}
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-2} OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}
cmake --build "$build" --target lime_reliability_tests
date -u +"%Y-%m-%d %H:%M UTC"
"$build/bin/lime_reliability_tests" --gtest_brief=0
