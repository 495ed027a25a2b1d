#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Opens the checkpoints of data/ in a real window on a private display (Xvfb), visits every view and
# checks the screenshots: real_window_test.sh LIME_EXPLORER DATA OUTPUT [LIME_CAPTURE
# [LIME_METRICS]]
# With lime-capture also the views of captures (of expressions, of some numbers in them, of pairs)
# and a run of route interventions, with lime-metrics the Embeddings view and the results; then all views
# in the dark theme. Exits with 77, which ctest counts as skipped, if Xvfb is missing.
set -euo pipefail
explorer=$1
data=$2
output=$3
capture=${4:-}
metrics=${5:-}

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
shoot() { "$explorer" --no-session --screenshot "$@"; }
edited='{"interventions": {"edits": [{"layer": 2, "source": 0, "scale": 0}], "text": "11 + 91 - 91 =", "run": '
shoot "$output/views" --state "${edited}true}}" "$data/aet-llama" "$data/aet-lime"
shoot "$output/not-run" --state "${edited}false}}" "$data/aet-llama" "$data/aet-lime"
shoot "$output/start"

echo "no capture" >"$output/web.md"
if refusal=$(shoot "$output/refused" "$output/web.md" "$output/nope.h5" 2>&1); then
  echo "it says nothing of files that it cannot open"; exit 1
fi
for name in web.md nope.h5; do
  [[ $refusal == *"$name"* ]] || { echo "it does not name $name: $refusal"; exit 1; }
done
if shoot "$output/refused" --state '{"router": {"bogus": 1}}' 2>/dev/null; then
  echo "it takes a state that no view has"; exit 1
fi

views=""
if [ -x "$capture" ]; then
  scripts=$(dirname "$0")/../../../scripts
  for i in $(seq 60); do
    echo "$((i % 7 + 2)) + $((i % 5 + 1)) - $((i % 3 + 1)) = $((i % 7 + i % 5 + 3)) - $((i % 3 + 1)) = $((i % 7 + i % 5 - i % 3 + 2))"
  done >"$output/expressions.txt"
  "$scripts/arithmetic_pairs.sh" "$output/expressions.txt" 60 >"$output/pairs.jsonl"
  for model in llama lime; do
    take() { "$capture" --checkpoint "$data/aet-$model" --quiet --threads 2 "$@"; }
    take --lines "$output/expressions.txt" --sites values,hidden,attn.hook_pattern -o "$output/$model.h5"
    take --lines "$output/expressions.txt" --only ' 1, 2, 3' --sites hidden -o "$output/words-$model.h5"
    take --pairs "$output/pairs.jsonl" --rows mean --sites hidden -o "$output/pairs-$model.h5"
  done
  shoot "$output/captures" \
    --state '{"selection": {"layer": 1, "rows": [25]}, "text": {"sequence": 1, "attention": true}}' \
    "$output"/{llama,lime,words-llama,words-lime,pairs-llama,pairs-lime}.h5 "$data/aet-lime"
  shoot "$output/pairs" --state '{"selection": {"layer": 1}}' \
    "$output"/{pairs-llama,pairs-lime}.h5
  views="captures/collapse captures/probes captures/text pairs/probes"
  # The run has answers only if the child programs are in the explorer's folder.
  if [ "$(dirname "$capture")" -ef "$(dirname "$explorer")" ] &&
    cmp -s "$output/views/interventions.png" "$output/not-run/interventions.png"; then
    echo "the intervention did not run"; exit 1
  fi
fi
if [ -x "$capture" ] && [ -x "$metrics" ]; then
  "$metrics" entropy "$output"/{llama,lime}.h5 --threads 2 --quiet -o "$output/entropy.json"
  "$metrics" tsne "$output"/words-{llama,lime}.h5 --align --threads 2 --quiet -o "$output/tsne.json"
  for theme in light dark; do
    shoot "$output/$theme" --theme "$theme" \
      --state "${edited}true}, \"selection\": {\"layer\": 2}, \"text\": {\"sequence\": 1}}" \
      "$data/aet-lime" "$output"/{llama,lime,words-llama,words-lime}.h5 "$output"/{tsne,entropy}.json
    for view in router collapse embeddings probes text interventions results; do views+=" $theme/$view"; done
  done
fi

for view in $views views/router views/interventions start/start; do
  picture=$output/$view.png
  [ -s "$picture" ] || { echo "there is no $picture"; exit 1; }
  # An empty window of this size takes about 6 kB.
  size=$(stat -c %s "$picture")
  [ "$size" -gt 10000 ] || { echo "$picture has only $size bytes"; exit 1; }
done
if shoot "$output/bad" /absent 2>"$output/bad.txt"; then
  echo "a file that is not there was no error"; exit 1
fi
grep -q "/absent" "$output/bad.txt" || { cat "$output/bad.txt"; exit 1; }
