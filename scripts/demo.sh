#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the dependencies, builds, and does the main job on the two checkpoints of data/: fresh
# expressions -> captures -> the entropy of values and hidden states per layer, side by side.
# Writes to out/. Run again, it takes seconds.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-deps.sh
scripts/build.sh lime-capture lime-metrics lime-train

bin=build/release/bin
out=out
mkdir -p "$out"
rm -rf "$out"/aet-*.h5 "$out"/aet-*.shards

echo "1. Fresh arithmetic expressions that neither model was trained on: $out/expressions.txt"
"$bin/lime-train" generate --task aet --operands 3,4 --count 2000 --seed 2026 -o "$out/expressions.txt"
head -n 2 "$out/expressions.txt" | sed 's/^/   /'

echo
echo "2. What the two models think of them, layer by layer"
for model in aet-llama aet-lime; do
  echo "   data/$model -> $out/$model.h5"
  "$bin/lime-capture" --checkpoint "data/$model" --lines "$out/expressions.txt" \
    --sites values,routed_values,hidden -o "$out/$model.h5" --quiet
done

echo
echo "3. Do their representations collapse, and where?"
echo
"$bin/lime-metrics" entropy "$out/aet-llama.h5" "$out/aet-lime.h5" --label LLaMA,LIMe \
  --layer all --site values,hidden \
  -o "$out/entropy.json" -o "$out/entropy.csv" -o "$out/entropy.tex"

cat <<EOF

The same numbers lie in $out/entropy.json, $out/entropy.csv and $out/entropy.tex.
Your own checkpoint, in two commands:
  $bin/lime-capture --checkpoint DIR --text FILE -o capture.h5
  $bin/lime-metrics entropy capture.h5
EOF
