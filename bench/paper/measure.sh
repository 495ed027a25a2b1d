#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Reproduces every measurement of the LIMe paper (arXiv:2502.09245), end to end, and its tables:
#   the trained LLaMA of the test data (stories260k) on English text and all of BLiMP,
#   the two small models of data/ (LLaMA and LIMe) on arithmetic.
#
#   bench/paper/measure.sh [--programs build/release/bin] [--out out/paper] [--threads 0]
#                          [--expressions 2000] [--jackknife 10] [--rerun]
#
# Run again, it resumes where it was stopped and keeps finished results; delete the folder to start
# over. --rerun then repeats every result from its own provenance, reports whether it is identical,
# and fails if one is not. The test data is in ../shared, or in LIME_TEST_DATA; measurements with
# missing input are skipped and listed at the end.
set -euo pipefail
cd "$(dirname "$0")/../.."

programs=build/release/bin
out=out/paper
threads=0
expressions=2000
blocks=10
rerun=no
while [ $# -gt 0 ]; do
  case "$1" in
    --programs) programs=$2; shift 2 ;;
    --out) out=$2; shift 2 ;;
    --threads) threads=$2; shift 2 ;;
    --expressions) expressions=$2; shift 2 ;;
    --jackknife) blocks=$2; shift 2 ;;
    --rerun) rerun=yes; shift ;;
    *) sed -n '3,14s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
done
for program in lime-capture lime-metrics lime-train; do
  [ -x "$programs/$program" ] && continue
  echo "$programs/$program is not built; run scripts/build.sh, or name its folder with --programs" >&2
  exit 1
done
data=${LIME_TEST_DATA:-../shared}
stories=$data/checkpoints/stories260k
base=docs/configs/lime-base.json
mkdir -p "$out"

left_out=()
measured=()
failed=no

# present WHAT FILE...: succeeds if all files exist; otherwise records WHAT as skipped.
present() {
  local what=$1 file
  shift
  for file in "$@"; do
    [ -e "$file" ] && continue
    left_out+=("$what: '$file' is absent")
    return 1
  done
}

section() { printf '\n%s\n%s\n' "$1" "$(printf '%s' "$1" | sed 's/./=/g')"; }

# capture NAME OPTION...: writes or resumes $out/NAME.h5.
capture() {
  local name=$1
  shift
  printf '   capturing %s\n' "$name" >&2
  "$programs/lime-capture" "$@" --threads "$threads" --resume --quiet -o "$out/$name.h5"
}

# measure NAME TITLE COMMAND OPTION...: writes $out/NAME.json, .csv and .txt, and prints the table.
measure() {
  local name=$1 title=$2 start=$SECONDS
  shift 2
  "$programs/lime-metrics" "$@" --threads "$threads" --resume --quiet \
    -o "$out/$name.json" -o "$out/$name.csv" -o "$out/$name.txt"
  measured+=("$name")
  printf '\n--- %s [%s, %d s]\n\n' "$title" "$out/$name.json" $((SECONDS - start))
  cat "$out/$name.txt"
}

# latex NAME COMMAND OPTION...: writes $out/NAME.tex and prints it.
latex() {
  local name=$1
  shift
  "$programs/lime-metrics" "$@" --threads "$threads" --quiet --format latex -o "$out/$name.tex"
  printf '\n--- as LaTeX [%s]\n\n' "$out/$name.tex"
  cat "$out/$name.tex"
}

# English ------------------------------------------------------------------------------------------
# Classes are single tokens. The tokenizer of stories260k has 512: of the paper's " is", " are", "
# was", " were" it contains only " was", so prepositions, which are single tokens and frequent in
# any text, replace them.
english() {
  present "stories260k on text" "$stories" "$data/text/fineweb-edu-sample.txt" || return 0
  section "stories260k (LLaMA, 5 layers) on English text"
  capture stories --checkpoint "$stories" --text "$data/text/fineweb-edu-sample.txt" \
    --max-sequences 256
  capture stories-words --checkpoint "$stories" --only ' of, with, for, on' \
    --text "$data/text/fineweb-edu-sample.txt" "$data"/text/[!f]*.txt
  local text=("$out/stories.h5" --label stories260k)
  local words=("$out/stories-words.h5" --label stories260k)
  measure stories-entropy "Entropy of values and hidden states" entropy "${text[@]}"
  printf '\nof " is", " are", " was", " were" only " was" is a token of stories260k: %s\n' \
    '" of", " with", " for", " on" stand in for them'
  measure stories-separability "Separability of prepositions" \
    separability "${words[@]}" --method both --control shuffled
  measure stories-tsne "t-SNE of prepositions" tsne "${words[@]}"
  measure stories-geometry "Geometry" geometry "${text[@]}" --jackknife "$blocks"
  measure stories-similarity "Similarity of layers" similarity "${text[@]}" --jackknife "$blocks"
}

minimal_pairs() {
  present "BLiMP" "$stories" "$data/blimp/adjunct_island.jsonl" || return 0
  section "stories260k on BLiMP"
  capture blimp --checkpoint "$stories" --pairs "$data"/blimp/*.jsonl --rows mean --log-likelihood
  local pairs=("$out/blimp.h5" --label stories260k)
  measure blimp-probes "Probes, all tasks" blimp "${pairs[@]}" --control
  latex blimp-table2 blimp "${pairs[@]}" --task lime-paper --by task
  measure blimp-zero-shot "Zero-shot, all tasks" blimp --zero-shot "${pairs[@]}" --by task
}

# Arithmetic ---------------------------------------------------------------------------------------
# The tokenizer has word tokens: the classes are the four operators, and the close numbers of the
# paper.
arithmetic() {
  present "the arithmetic models" data/aet-llama/model.safetensors data/aet-lime/model.safetensors \
    || return 0
  section "data/aet-llama against data/aet-lime on arithmetic"
  local solved=$out/expressions.txt model
  [ -e "$solved" ] || "$programs/lime-train" generate --task aet --operands 3,4 \
    --count "$expressions" --seed 2026 -o "$solved"
  for model in llama lime; do
    local input=(--checkpoint "data/aet-$model" --lines "$solved")
    capture "aet-$model" "${input[@]}" --sites values,routed_values,hidden
    capture "aet-$model-operators" "${input[@]}" --only ' +, -, x, /'
    capture "aet-$model-numbers" "${input[@]}" --only ' 1, 2, 3, 4, 100, 101, 102, 103'
  done
  local both=("$out/aet-llama.h5" "$out/aet-lime.h5" --label LLaMA LIMe)
  local operators=("$out/aet-llama-operators.h5" "$out/aet-lime-operators.h5" --label LLaMA LIMe)
  local numbers=("$out/aet-llama-numbers.h5" "$out/aet-lime-numbers.h5" --label LLaMA LIMe)
  measure aet-entropy "Entropy of values and hidden states" entropy "${both[@]}"
  measure aet-entropy-mean "Mean entropy over layers, and differences of the models" \
    entropy "${both[@]}" --site values,hidden --summary layers --compare first
  measure aet-separability "Separability of + - x /" \
    separability "${operators[@]}" --method both --compare first
  measure aet-tsne "t-SNE of close numbers" tsne "${numbers[@]}" --compare first
  measure aet-geometry "Geometry" geometry "${both[@]}" --jackknife "$blocks" \
    --compare first
  measure aet-similarity "Similarity of layers, within and between" similarity "${both[@]}" \
    --jackknife "$blocks" --compare first
}

routers() {
  section "Routers"
  local name
  for name in lime-random-gqa lime-random-full; do
    present "router of $name" "$data/checkpoints/$name" || continue
    measure "router-$name" "Router of $name" router "$data/checkpoints/$name" --detail layers
  done
  present "router of aet-lime" data/aet-lime/model.safetensors "$out/aet-lime.h5" || return 0
  measure router-aet-lime "Router of aet-lime" router data/aet-lime "$out/aet-lime.h5"
  measure counterfactual "Counterfactual routers" counterfactual "$out/aet-lime.h5" \
    --against "$out/aet-llama.h5" --label LIMe LLaMA
  measure counterfactual-operators "Counterfactual routers: separability of + - x /" \
    counterfactual "$out/aet-lime-operators.h5" --against "$out/aet-llama-operators.h5" \
    --label LIMe LLaMA
}

costs() {
  section "Cost"
  measure cost "The paper's efficiency table" cost "$base" \
    --decoder llama,lime,denseformer,hyper_connections --num-key-value-heads 8,32
}

rerun_all() {
  section "Repeated from their own provenance"
  local name
  for name in "${measured[@]}"; do
    "$programs/lime-metrics" rerun "$out/$name.json" --threads "$threads" --quiet || failed=yes
  done
}

english
minimal_pairs
arithmetic
routers
costs
[ "$rerun" = no ] || rerun_all
printf '\n%d results in %s, %d s\n' "${#measured[@]}" "$out" "$SECONDS"
for line in "${left_out[@]}"; do
  printf 'left out: %s; set LIME_TEST_DATA to the folder of test data\n' "$line"
done
[ "$failed" = no ]
