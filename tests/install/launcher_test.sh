#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests the launcher with programs that only print their CPU level:
# launcher_test.sh LAUNCHER FOLDER
set -euo pipefail
launcher=$1
folder=$2
rm -rf "$folder"
mkdir -p "$folder/usr/bin"
cp "$launcher" "$folder/usr/bin/tool"

expect() {
  [ "$1" = "$2" ] || { echo "expected '$2', got '$1'"; exit 1; }
}

add_level() {
  mkdir -p "$folder/usr/lib/lime/$1/bin"
  printf '#!/bin/sh\necho %s "$@"\nexit 7\n' "$1" >"$folder/usr/lib/lime/$1/bin/tool"
  chmod +x "$folder/usr/lib/lime/$1/bin/tool"
}

status=0
text=$("$folder/usr/bin/tool" 2>&1) || status=$?
expect "$status" 1
expect "$text" "tool: '$folder/usr/lib/lime': must contain the program for this CPU; reinstall the package"

add_level baseline
status=0
text=$("$folder/usr/bin/tool" one "two words") || status=$?
expect "$text" "baseline one two words"
expect "$status" 7

# The dynamic linker also knows the CPU's levels.
best=baseline
for level in x86-64-v3 x86-64-v4; do
  add_level "$level"
  loader=$(ls /lib64/ld-linux-x86-64.so.2 2>/dev/null || true)
  if [ -n "$loader" ] && "$loader" --help | grep -q "$level (supported"; then best=$level; fi
done
expect "$("$folder/usr/bin/tool" || true)" "$best"
expect "$(LIME_PROCESSOR_LEVEL=baseline "$folder/usr/bin/tool" || true)" baseline
ln -s usr/bin/tool "$folder/link"
expect "$("$folder/link" || true)" "$best"
text=$(LIME_PROCESSOR_LEVEL=x86-64-v9 "$folder/usr/bin/tool" 2>&1 || true)
expect "$text" "tool: '$folder/usr/lib/lime': must contain the program for x86-64-v9; reinstall the package"
rm -rf "$folder"
