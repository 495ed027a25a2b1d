#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Deep and narrow models: the losses of LLaMA and LIMe (router full) with 16, 32 and 64 layers of width
# 64 on English text with equal budgets.
#
#   bench/reproduction/depth.sh [--programs build/release/bin] [--out out/depth] [--seeds 1]
#                               [--layers '16 32 64'] [--steps 1000] [--jobs 2]
#
# Runs up to --jobs training runs in parallel, one thread each. Run again, it resumes where it was
# stopped. Text is in ../shared, or in LIME_TEST_DATA. docs/reproduction.md contains the results.
set -euo pipefail
cd "$(dirname "$0")/../.."

programs=build/release/bin
out=out/depth
seeds=1
layers='16 32 64'
steps=1000
jobs=2
. bench/reproduction/trainings.sh
read_options programs out seeds layers steps jobs -- "$@"
need_programs lime-train
data=${LIME_TEST_DATA:-../shared}
mkdir -p "$out"

# train SEED LAYERS DECODER: trains or resumes $out/DECODER-LAYERS-SEED.
train() {
  "$programs/lime-train" --task lm --text "$data/text" --validation-fraction 0.02 --vocab-size 2048 \
    --tokens "$out/tokens" --sequence-length 256 --num-hidden-layers "$2" \
    --num-attention-heads 4 --hidden-size 64 --decoder "$3" --steps "$steps" --batch-size 2 \
    --learning-rate 1e-3 --threads 1 --log-every 20 --save-every 100 --validate-every "$steps" \
    --seed "$1" -o "$out/$3-$2-$1" --resume
}

for seed in $seeds; do
  for number in $layers; do
    for decoder in llama lime; do
      start "$decoder-$number-$seed" train "$seed" "$number" "$decoder"
      wait_for_tokens
    done
  done
done
finish

printf '\n%6s %-7s %4s %11s %8s %12s\n' layers decoder seed parameters loss perplexity
for number in $layers; do
  for decoder in llama lime; do
    for seed in $seeds; do
      log=$out/$decoder-$number-$seed/training_log.jsonl
      last=$(grep '"event":"validation"' "$log" | tail -n 1)
      printf '%6s %-7s %4s %11s %8.4f %12.2f\n' "$number" "$decoder" "$seed" \
        "$(sed -n 's/.*"event":"start".*"parameters":\([0-9]*\).*/\1/p' "$log" | head -n 1)" \
        "$(sed 's/.*"loss":\([0-9.]*\).*/\1/' <<<"$last")" \
        "$(sed 's/.*"perplexity":\([0-9.]*\).*/\1/' <<<"$last")"
    done
  done
done
