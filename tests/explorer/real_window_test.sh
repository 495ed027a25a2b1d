#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Opens the checkpoints of data/ in a real window on a display of its own (Xvfb), walks every view and
# looks at the pictures: real_window_test.sh LIME_EXPLORER DATA OUTPUT
# Exits with 77, which ctest counts as skipped, where there is no Xvfb.
set -euo pipefail
explorer=$1
data=$2
output=$3

command -v Xvfb >/dev/null || { echo "skipped: needs Xvfb (scripts/install-deps.sh --tests)"; exit 77; }
rm -rf "$output"
mkdir -p "$output"

number=$output/display
Xvfb -displayfd 3 -screen 0 1280x720x24 -nolisten tcp 3>"$number" 2>"$output/xvfb.log" &
server=$!
trap 'kill "$server" 2>/dev/null || true' EXIT
for _ in $(seq 100); do [ -s "$number" ] && break; sleep 0.1; done
[ -s "$number" ] || { echo "Xvfb did not start:"; cat "$output/xvfb.log"; exit 1; }

export DISPLAY=:$(head -n 1 "$number") QT_QPA_PLATFORM=xcb
"$explorer" --no-session --screenshot "$output/views" "$data/aet-llama" "$data/aet-lime"
"$explorer" --no-session --screenshot "$output/start"

for view in views/router views/results start/start; do
  picture=$output/$view.png
  [ -s "$picture" ] || { echo "there is no $picture"; exit 1; }
  # An empty window of this size takes some 6 kB.
  size=$(stat -c %s "$picture")
  [ "$size" -gt 10000 ] || { echo "$picture has only $size bytes"; exit 1; }
done
if "$explorer" --no-session --screenshot "$output/bad" /absent 2>"$output/bad.txt"; then
  echo "a file that is not there was no error"; exit 1
fi
grep -q "/absent" "$output/bad.txt" || { cat "$output/bad.txt"; exit 1; }
