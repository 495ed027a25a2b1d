#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a program under valgrind's memcheck:
#   memcheck.sh PROGRAM [ARGUMENT...]
# Exits with 99 if memcheck finds an error, also in a forked child (in which store tries files), or
# a memory leak; else with the program's status. Leaks of such a child are ignored: it has the
# memory of all threads, but only one of them.
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
