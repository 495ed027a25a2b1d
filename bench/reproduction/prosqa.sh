#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ProsQA: LLaMA and LIMe (router full) with 4 layers and width 64, trained with equal budgets to write
# proof and answer of generated questions, then fine-tuned on the published validation questions and
# evaluated on the published test questions.
#
#   bench/reproduction/prosqa.sh [--programs build/release/bin] [--out out/prosqa] [--seeds 1]
#                                [--steps 3000] [--jobs 2]
#
# Runs up to --jobs training runs in parallel, one thread each. Run again, it resumes where it was
# stopped. ProsQA is in ../shared, or in LIME_TEST_DATA. docs/reproduction.md contains the results.
set -euo pipefail
cd "$(dirname "$0")/../.."

programs=build/release/bin
out=out/prosqa
seeds=1
steps=3000
jobs=2
. bench/reproduction/trainings.sh
read_options programs out seeds steps jobs -- "$@"
need_programs lime-train
data=${LIME_TEST_DATA:-../shared}/prosqa
mkdir -p "$out"

# on_prosqa NAME OPTION...: trains or resumes $out/NAME.
on_prosqa() {
  "$programs/lime-train" --task prosqa --test-file "$data/prosqa_test.json" --batch-size 32 \
    --threads 1 --log-every 25 --save-every 250 --validate-every 500 "${@:2}" -o "$out/$1" --resume
}

for seed in $seeds; do
  for decoder in llama lime; do
    start "$decoder-$seed" on_prosqa "$decoder-$seed" --decoder "$decoder" --hidden-size 64 \
      --initializer-range 0.08 --train-problems 100000 --steps "$steps" --learning-rate 2e-3 \
      --seed "$seed"
  done
done
finish
for seed in $seeds; do
  for decoder in llama lime; do
    start "$decoder-$seed-tuned" on_prosqa "$decoder-$seed-tuned" --from "$out/$decoder-$seed" \
      --train-file "$data/prosqa_valid.json" --steps 100 --learning-rate 2e-4 --seed "$seed"
  done
done
finish

printf '\n%-14s %10s %10s %8s\n' model 'answers' 'proofs' loss
for seed in $seeds; do
  for model in "llama-$seed" "llama-$seed-tuned" "lime-$seed" "lime-$seed-tuned"; do
    log=$out/$model/training_log.jsonl
    last=$(grep '"event":"evaluation"' "$log" | tail -n 1)
    printf '%-14s %10.3f %10.3f %8.4f\n' "$model" \
      "$(sed 's/.*"accuracy":\([0-9.]*\).*/\1/' <<<"$last")" \
      "$(sed 's/.*"proven":\([0-9.]*\).*/\1/' <<<"$last")" \
      "$(sed -n 's/.*"event":"validation".*"loss":\([0-9.]*\).*/\1/p' "$log" | tail -n 1)"
  done
done
