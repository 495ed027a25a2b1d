#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compares LIMe routers with each other and with LLaMA: small language models on English text with
# equal budgets, and their perplexity on held-out text.
#
#   bench/reproduction/routers.sh [--programs build/release/bin] [--out out/routers] [--seeds 1]
#                                 [--steps 1000] [--jobs 2] [--variants 'llama full ...']
#                                 [--size small|pair]
#
# Small models have 6 layers, 4 heads and width 96; size `pair` gives the language models of
# language.sh, with 8 layers, 8 heads and width 256 (use --steps 1800 and another --out for them).
#
# A variant is a decoder or router and, after a +, other options of lime-train for it, as in
# full+router-initializer-scale=0+initializer-range=0.06.
# Runs up to --jobs training runs in parallel, one thread each. Run again, it resumes where it was
# stopped. Text is in ../shared, or in LIME_TEST_DATA. docs/reproduction.md contains the results.
set -euo pipefail
cd "$(dirname "$0")/../.."

programs=build/release/bin
out=out/routers
seeds=1
steps=1000
jobs=2
size=small
variants='llama full average last-2 first-2 no-head-mixing per-dimension dynamic'
variants+=' full+router-initializer-scale=0 full+router-learning-rate=1e-2'
variants+=' llama+initializer-range=0.06 full+initializer-range=0.06'
. bench/reproduction/trainings.sh
read_options programs out seeds steps jobs variants size -- "$@"
need_programs lime-train
data=${LIME_TEST_DATA:-../shared}
mkdir -p "$out"

case "$size" in
  small) shape='--vocab-size 2048 --num-hidden-layers 6 --num-attention-heads 4 --hidden-size 96
                --intermediate-size 256 --batch-size 4 --learning-rate 2e-3' ;;
  pair) shape='--vocab-size 4096 --num-hidden-layers 8 --num-attention-heads 8 --hidden-size 256
               --batch-size 2 --learning-rate 1e-3' ;;
  *) echo "'$size' is no size; there are small and pair" >&2; exit 2 ;;
esac

options_of() {  # VARIANT: prints its options
  local kind=${1%%+*} extra
  for extra in $(tr + '\n' <<<"$1" | tail -n +2); do echo "--${extra%%=*} ${extra#*=}"; done
  case "$kind" in
    llama) echo --decoder llama ;;
    full | average) echo --decoder lime --router "$kind" ;;
    last-2) echo --decoder lime --router last --router-j 2 ;;
    first-2) echo --decoder lime --router first --router-j 2 ;;
    no-head-mixing | per-dimension) echo --decoder lime --router full "--$kind" ;;
    dynamic) echo --decoder lime --router full --dynamic-router ;;
    *) echo "'$1' is no variant" >&2; return 1 ;;
  esac
}

# train SEED VARIANT: trains or resumes $out/VARIANT-SEED.
train() {
  local model
  read -ra model <<<"$(echo $shape $(options_of "$2"))"
  "$programs/lime-train" --task lm --text "$data/text" --validation-fraction 0.02 \
    --tokens "$out/tokens" --sequence-length 256 "${model[@]}" --steps "$steps" --threads 1 \
    --log-every 25 --save-every 500 --validate-every 500 --seed "$1" -o "$out/$2-$1" --resume
}

for variant in $variants; do options_of "$variant" >"$out/options.txt"; done
for seed in $seeds; do
  for variant in $variants; do
    start "$variant-$seed" train "$seed" "$variant"
    wait_for_tokens
  done
done
finish

printf '\n%-40s %4s %11s %12s\n' variant seed parameters perplexity
for variant in $variants; do
  for seed in $seeds; do
    log=$out/$variant-$seed/training_log.jsonl
    printf '%-40s %4s %11s %12.2f\n' "$variant" "$seed" \
      "$(sed -n 's/.*"event":"start".*"parameters":\([0-9]*\).*/\1/p' "$log" | head -n 1)" \
      "$(sed -n 's/.*"event":"validation".*"perplexity":\([0-9.]*\).*/\1/p' "$log" | tail -n 1)"
  done
done
