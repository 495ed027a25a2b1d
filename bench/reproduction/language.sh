#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A small version of the LIMe paper's chapter on collapse (arXiv:2502.09245, section 5): LLaMA and LIMe
# with 8 layers, 8 heads and width 256 and a SentencePiece vocabulary of 4096, trained on equal budgets
# on English text; then, on held-out text: perplexity, entropy of values and hidden states,
# separability and t-SNE of " is", " are", " was", " were", BLiMP by probes and zero-shot, routers.
#
#   bench/reproduction/language.sh [--programs build/release/bin] [--out out/language]
#                                  [--seeds 1] [--steps 1800] [--jobs 2] [--threads 1]
#                                  [--initializer-range 0.02] [--pairs-per-task 1000]
#
# Runs up to --jobs training runs in parallel, with --threads each; measurements use --jobs times as
# many. Run again, it resumes where it was stopped. Text and BLiMP are in ../shared, or in
# LIME_TEST_DATA. docs/reproduction.md contains the results.
set -euo pipefail
cd "$(dirname "$0")/../.."

programs=build/release/bin
out=out/language
seeds=1
steps=1800
jobs=2
threads=1
initializer_range=0.02
pairs_per_task=1000
. bench/reproduction/trainings.sh
read_options programs out seeds steps jobs threads initializer_range pairs_per_task -- "$@"
need_programs lime-train lime-capture lime-metrics lime-figure
data=${LIME_TEST_DATA:-../shared}
for folder in text blimp; do
  [ -d "$data/$folder" ] && continue
  echo "'$data/$folder' is absent; set LIME_TEST_DATA to the folder of test data" >&2
  exit 1
done
all_threads=$((jobs * threads))
mkdir -p "$out/held-out" "$out/blimp"

# The last fiftieth of each file, from a line start: the text that --validation-fraction 0.02 holds
# out.
for file in "$data"/text/*.txt; do
  tail -c $(($(stat -c %s "$file") / 50)) "$file" | tail -n +2 >"$out/held-out/${file##*/}"
done
for file in "$data"/blimp/*.jsonl; do
  head -n "$pairs_per_task" "$file" >"$out/blimp/${file##*/}"
done

# train SEED DECODER: trains or resumes $out/DECODER-SEED.
train() {
  "$programs/lime-train" --task lm --text "$data/text" --validation-fraction 0.02 --vocab-size 4096 \
    --tokens "$out/tokens" --sequence-length 256 --num-hidden-layers 8 --num-attention-heads 8 \
    --hidden-size 256 --initializer-range "$initializer_range" --decoder "$2" --steps "$steps" \
    --batch-size 2 --learning-rate 1e-3 --threads "$threads" --log-every 20 --save-every 250 \
    --validate-every 900 --seed "$1" -o "$out/$2-$1" --resume
}

for seed in $seeds; do
  for decoder in llama lime; do
    start "$decoder-$seed" train "$seed" "$decoder"
    wait_for_tokens
  done
done
finish

words=' is, are, was, were'
text=("$out"/held-out/*.txt)
capture() {  # MODEL NAME OPTION...: $out/MODEL-NAME.h5
  "$programs/lime-capture" --checkpoint "$out/$1" "${@:3}" --threads "$all_threads" --resume \
    --quiet -o "$out/$1-$2.h5"
}
for seed in $seeds; do
  texts=() tokens=() pairs=()
  for decoder in llama lime; do
    model=$decoder-$seed
    capture "$model" text --text "${text[@]}" --seq-len 256 --max-sequences 200 \
      --sites values,routed_values,hidden --store float16
    capture "$model" words --text "${text[@]}" --seq-len 256 --only "$words" --max-per-class 1668 \
      --sites values,hidden
    capture "$model" blimp --pairs "$out"/blimp/*.jsonl --rows mean --sites values,hidden \
      --log-likelihood --store float16
    texts+=("$out/$model-text.h5")
    tokens+=("$out/$model-words.h5")
    pairs+=("$out/$model-blimp.h5")
  done
  result() {  # METRIC NAME OPTION...: $out/NAME-SEED.json and .txt
    "$programs/lime-metrics" "$1" "${@:3}" --threads "$all_threads" --quiet --resume \
      -o "$out/$2-$seed.json" -o "$out/$2-$seed.txt"
  }
  both=(--label LLaMA LIMe)
  result entropy entropy "${texts[@]}" "${both[@]}" --site values,hidden --compare first
  result separability separability "${tokens[@]}" "${both[@]}" --method both --compare first
  result separability separability-controls "${tokens[@]}" "${both[@]}" --control shuffled
  result tsne embeddings "${tokens[@]}" "${both[@]}" --site hidden --max-per-class 200
  result blimp zero-shot --zero-shot "${pairs[@]}" "${both[@]}" --compare first
  result blimp probes "${pairs[@]}" "${both[@]}" --compare first
  result router router "$out/lime-$seed" "${texts[1]}" --label LIMe --max-sequences 50
  result counterfactual counterfactual "${texts[1]}" --against "${texts[0]}" --label LIMe LLaMA \
    --max-sequences 50
  printf '\nseed %s\n' "$seed"
  for decoder in llama lime; do
    printf '%s: ' "$decoder"
    grep '"event":"validation"' "$out/$decoder-$seed/training_log.jsonl" | tail -n 1
  done
  cat "$out"/{entropy,separability,zero-shot,probes,router,counterfactual}-"$seed".txt
  "$programs/lime-figure" all "$out"/{entropy,separability-controls,embeddings,probes}-"$seed".json \
    "$out"/{router,counterfactual}-"$seed".json "$out/llama-$seed" "$out/lime-$seed" \
    --layer-base 1 -o "$out/figures-$seed" --quiet
done
