#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Arithmetic Expression Task of the LIMe paper (arXiv:2502.09245, section 5.2): LLaMA and LIMe with
# 4 layers, 4 heads and width 32, trained on equal budgets on expressions of 4, 5 and 6 operands,
# two seeds each; then accuracy, entropy of values and hidden states, t-SNE of close numbers, routers;
# entropy and separability also with training runs as the unit (entropy-runs.txt, numbers-runs.txt).
#
#   bench/reproduction/arithmetic.sh [--programs build/release/bin] [--out out/arithmetic]
#                                    [--seeds '1 2'] [--steps 10000] [--jobs 4]
#
# Runs up to --jobs training runs in parallel, one thread each. Run again, it resumes where it was
# stopped. docs/reproduction.md contains the results.
set -euo pipefail
cd "$(dirname "$0")/../.."

programs=build/release/bin
out=out/arithmetic
seeds='1 2'
steps=10000
jobs=4
. bench/reproduction/trainings.sh
read_options programs out seeds steps jobs -- "$@"
need_programs lime-train lime-capture lime-metrics lime-figure
mkdir -p "$out"

# train SEED DECODER: trains or resumes $out/DECODER-SEED.
train() {
  local decoder=(--decoder "$2")
  [ "$2" = lime ] && decoder+=(--router full)
  "$programs/lime-train" --task aet --operands 4 5 6 --train-samples 50000 --steps "$steps" \
    --batch-size 128 --learning-rate 1e-3 --threads 1 --log-every 50 --save-every 500 \
    --validate-every 1000 --seed "$1" "${decoder[@]}" -o "$out/$2-$1" --resume
}

for seed in $seeds; do
  for decoder in llama lime; do
    start "$decoder-$seed" train "$seed" "$decoder"
  done
done
finish

"$programs/lime-train" generate --task aet --operands 6 --count 2000 --seed 2026 \
  -o "$out/expressions.txt"
words=' 1, 2, 3, 4, 100, 101, 102, 103'
for seed in $seeds; do
  captures=()
  numbers=()
  for decoder in llama lime; do
    model=$out/$decoder-$seed
    "$programs/lime-capture" --checkpoint "$model" --lines "$out/expressions.txt" \
      --sites values,routed_values,hidden -o "$model.h5" --resume --quiet
    "$programs/lime-capture" --checkpoint "$model" --lines "$out/expressions.txt" \
      --only "$words" --max-per-class 200 --sites hidden -o "$model-numbers.h5" --resume --quiet
    captures+=("$model.h5")
    numbers+=("$model-numbers.h5")
  done
  both=(--label LLaMA LIMe --quiet --resume)
  result() { "$programs/lime-metrics" "$1" "${@:3}" "${both[@]}" -o "$out/$2-$seed.json" -o "$out/$2-$seed.txt"; }
  result entropy entropy "${captures[@]}" --site values,hidden --compare first
  result separability close-numbers "${numbers[@]}" --words ' 1, 2, 3, 4'
  result tsne small-numbers "${numbers[@]}" --class ' 1, 2, 3, 4'
  result tsne large-numbers "${numbers[@]}" --class ' 100, 101, 102, 103'
  "$programs/lime-metrics" router "$out/lime-$seed" "${captures[1]}" --label LIMe --quiet \
    -o "$out/router-$seed.json" -o "$out/router-$seed.txt"
  printf '\nseed %s\n' "$seed"
  grep -H '"event":"evaluation"' "$out"/{llama,lime}-"$seed"/training_log.jsonl || true
  cat "$out/entropy-$seed.txt"
  "$programs/lime-figure" all "$out"/{entropy,small-numbers,large-numbers,router}-"$seed".json \
    "$out/llama-$seed" "$out/lime-$seed" --layer-base 1 -o "$out/figures-$seed" --quiet
done

# over_runs METRIC NAME SUFFIX OPTION...: measures the captures of all seeds, with training runs as
# the unit.
over_runs() {
  local captures=() labels=() models=() decoder seed
  for decoder in LLaMA LIMe; do
    for seed in $seeds; do
      captures+=("$out/${decoder,,}-$seed$3.h5")
      labels+=("$decoder $seed")
      models+=("$decoder")
    done
  done
  "$programs/lime-metrics" "$1" "${captures[@]}" --label "${labels[@]}" \
    --runs "$(IFS=,; echo "${models[*]}")" "${@:4}" --quiet --resume -o "$out/$2.json" -o "$out/$2.txt"
  cat "$out/$2.txt"
}

over_runs entropy entropy-runs '' --site values,hidden
over_runs separability numbers-runs -numbers --words ' 1, 2, 3, 4'
