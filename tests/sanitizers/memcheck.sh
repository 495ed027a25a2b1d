#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a program under valgrind's memcheck:
#   memcheck.sh PROGRAM [ARGUMENT...]
# Exits with 99 if memcheck finds an error or a memory leak, else with the program's status. Programs
# that it starts, such as lime-trial-read, run without memcheck.
set -uo pipefail
log=$(mktemp)
trap 'rm -f "$log"' EXIT
suppressions=$(cd "$(dirname "$0")" && pwd)/valgrind.supp
valgrind -q --error-exitcode=99 --leak-check=full --show-leak-kinds=definite \
  --errors-for-leak-kinds=none --child-silent-after-fork=yes --log-file="$log" \
  --suppressions="$suppressions" "$@"
status=$?
cat "$log" >&2
grep -q 'definitely lost' "$log" && status=99
exit "$status"
