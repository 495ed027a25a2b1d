#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a program under valgrind's memcheck:
#   memcheck.sh PROGRAM [ARGUMENT...]
# Exits with 99 where memcheck finds an error, also in a child that the program forks (by which store
# tries files), or where memory is lost; else as the program does. What such a child has lost does not
# count: it has the memory of all threads, but only one of them.
set -uo pipefail
log=$(mktemp)
trap 'rm -f "$log"' EXIT
suppressions=$(cd "$(dirname "$0")" && pwd)/valgrind.supp
export LIME_TRIAL_SECONDS=${LIME_TRIAL_SECONDS:-300}
valgrind -q --error-exitcode=99 --leak-check=full --show-leak-kinds=definite \
  --errors-for-leak-kinds=none --child-silent-after-fork=yes --log-file="$log" \
  --suppressions="$suppressions" "$@"
status=$?
cat "$log" >&2
grep -q 'definitely lost' "$log" && status=99
exit "$status"
