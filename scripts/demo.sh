#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the dependencies, builds the programs that it runs, and analyses the four checkpoints in data/. Captures
# activations of arithmetic expressions, compares the entropy of values and hidden states per layer, and plots the
# figures of the paper. Then measures separability and minimal pairs on English sentences. Writes to out/. A second run
# takes seconds.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-deps.sh
scripts/build.sh lime-capture lime-metrics  # what the first results need
scripts/build.sh lime-figure >/dev/null &   # while the results are computed; not the explorer, which is not run here
build_of_figure=$!
trap 'kill "$build_of_figure" 2>/dev/null || true' EXIT

bin=build/release/bin
out=out
mkdir -p "$out"
rm -rf "$out"/*.h5 "$out"/*.shards

echo "1. Arithmetic expressions that are not in the training data of either model: $out/expressions.txt"
cp data/expressions.txt "$out/expressions.txt"
head -n 2 "$out/expressions.txt" | sed 's/^/   /'

echo
echo "2. Capture the activations of both models, layer by layer"
for model in aet-llama aet-lime; do
  echo "   data/$model -> $out/$model.h5"
  "$bin/lime-capture" --checkpoint "data/$model" --lines "$out/expressions.txt" \
    --sites values,routed_values,hidden -o "$out/$model.h5" --quiet
done

echo
echo "3. Compare the entropy of the representations (representation collapse)"
echo
"$bin/lime-metrics" entropy "$out/aet-llama.h5" "$out/aet-lime.h5" --label LLaMA,LIMe \
  --layer all --site values,hidden \
  -o "$out/entropy.json" -o "$out/entropy.csv" -o "$out/entropy.tex"

echo
echo "4. Plot the figures of these two checkpoints"
words=' 1, 2, 3, 4, 100, 101, 102, 103'
scripts/arithmetic_pairs.sh "$out/expressions.txt" 300 >"$out/pairs.jsonl"
for model in llama lime; do
  "$bin/lime-capture" --checkpoint "data/aet-$model" --lines "$out/expressions.txt" \
    --only "$words" --max-per-class 200 --sites hidden -o "$out/numbers-$model.h5" --quiet
  "$bin/lime-capture" --checkpoint "data/aet-$model" --pairs "$out/pairs.jsonl" \
    --log-likelihood -o "$out/pairs-$model.h5" --quiet
done
measure() {  # METRIC FILE OPTION...: compute a result for the figures only
  "$bin/lime-metrics" "$1" "${@:3}" -o "$out/$2" --quiet
}
both=(--label LLaMA LIMe)
captures=("$out/aet-llama.h5" "$out/aet-lime.h5" "${both[@]}")
numbers=("$out/numbers-llama.h5" "$out/numbers-lime.h5" "${both[@]}")
measure entropy compared.json "${captures[@]}" --site values,hidden --compare first
measure similarity similarity.json "${captures[@]}" --site hidden --max-rows 1024
measure separability separability.json "${numbers[@]}" --words ' 1, 2, 3, 4' --control shuffled
measure tsne small-numbers.json "${numbers[@]}" --class ' 1, 2, 3, 4'
measure tsne large-numbers.json "${numbers[@]}" --class ' 100, 101, 102, 103'
measure blimp pairs.json --zero-shot "$out/pairs-llama.h5" "$out/pairs-lime.h5" "${both[@]}"
measure router router.json data/aet-lime "$out/aet-lime.h5" --label LIMe --detail weights
measure counterfactual counterfactual.json "$out/aet-lime.h5" --against "$out/aet-llama.h5" \
  --label LIMe LLaMA --max-sequences 200
"$bin/lime-capture" sweep --checkpoint data/aet-lime --lines "$out/expressions.txt" --max-sequences 100 \
  --over routes --score-after '=' --label LIMe -o "$out/routes.json" --quiet
measure cost cost.json data/aet-llama data/aet-lime "${both[@]}"
wait "$build_of_figure"
trap - EXIT
rm -rf "$out/figures"
"$bin/lime-figure" all "$out"/{compared,separability,small-numbers,large-numbers}.json \
  "$out"/{similarity,router,counterfactual,pairs,cost}.json data/aet-llama data/aet-lime \
  --layer-base 1 --format pdf,png -o "$out/figures" --quiet

echo
echo "5. Analyse a LLaMA and a LIMe trained on English: data/lm-llama, data/lm-lime"
echo "   generated sentences and minimal pairs: $out/sentences.txt, $out/agreement.jsonl"
scripts/agreement_pairs.sh 200 sentences >"$out/sentences.txt"
scripts/agreement_pairs.sh 200 >"$out/agreement.jsonl"
for model in llama lime; do
  "$bin/lime-capture" --checkpoint "data/lm-$model" --lines "$out/sentences.txt" \
    --only ' is, are, was, were' --sites hidden -o "$out/words-$model.h5" --quiet
  "$bin/lime-capture" --checkpoint "data/lm-$model" --pairs "$out/agreement.jsonl" \
    --sites hidden --rows mean --log-likelihood -o "$out/agreement-$model.h5" --quiet
done
words=("$out/words-llama.h5" "$out/words-lime.h5" "${both[@]}")
agreement=("$out/agreement-llama.h5" "$out/agreement-lime.h5" "${both[@]}")
echo
"$bin/lime-metrics" separability "${words[@]}" --method both -o "$out/words.json"
echo
"$bin/lime-metrics" blimp --zero-shot "${agreement[@]}" --by task -o "$out/agreement.json"
measure blimp agreement-probes.json "${agreement[@]}"
measure tsne word-embeddings.json "${words[@]}" --max-per-class 100
"$bin/lime-figure" all "$out"/{words,agreement,agreement-probes,word-embeddings}.json \
  --layer-base 1 --format pdf,png -o "$out/figures/english" --quiet
for kind in pdf png; do  # the default groups by field, and these pairs have only one
  "$bin/lime-figure" "$out/agreement.json" --by task \
    -o "$out/figures/english/blimp-agreement.$kind"
done
echo
printf '   %s\n' "$out"/figures/*.pdf "$out"/figures/english/*.pdf

cat <<EOF

The table is stored in $out/entropy.json, $out/entropy.csv and $out/entropy.tex, the figures in
$out/figures as PDF and PNG; "$bin/lime-figure --show-provenance FIGURE" prints how a figure was made.
The same in LIMe Explorer, whose start page answers three questions from these files:
  scripts/build.sh lime-explorer
  $bin/lime-explorer data/aet-llama data/aet-lime $out/aet-llama.h5 $out/aet-lime.h5
The programs that train, generate text and evaluate benchmarks:
  scripts/build.sh lime-train lime-generate lime-eval
Your own checkpoint in two commands:
  $bin/lime-capture --checkpoint DIR --text FILE -o mine.h5
  $bin/lime-metrics entropy mine.h5
EOF
