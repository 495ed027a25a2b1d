#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs scripts/study.sh at toy size on a model of data/, with generated text and pairs: what lacks its
# input is left out, a second run repeats nothing, and an interrupted step is repeated.
#   study_script_test.sh PROGRAMS FOLDER
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
programs=$(cd "$1" && pwd)
folder=$2
rm -rf "$folder"
mkdir -p "$folder/data/blimp"
folder=$(cd "$folder" && pwd)

fail() { echo "study_script_test: $1" >&2; exit 1; }

"$root/scripts/study.sh" --help >"$folder/help.txt"
grep -q -- '--model FILE' "$folder/help.txt" || fail "--help does not list the options"
if "$root/scripts/study.sh" --size 2 2>"$folder/error.txt"; then fail "accepted an unknown option"; fi
grep -q "unknown option '--size'" "$folder/error.txt" || fail "does not name the unknown option"

"$root/scripts/agreement_pairs.sh" 200 sentences >"$folder/text.txt"
for task in plain attractor; do
  "$root/scripts/agreement_pairs.sh" 40 | grep "\"$task\"" >"$folder/data/blimp/$task.jsonl"
done
study() {
  OMP_NUM_THREADS=2 LIME_REAL_MODEL='' "$root/scripts/study.sh" --toy --bin "$programs" --python false \
    --data "$folder/data" --out "$folder/out" "$@"
}
if study --model "$folder/absent.gguf" --text "$folder/text.txt" 2>"$folder/error.txt"; then fail "no model"; fi
grep -q "absent.gguf' does not exist; expected a GGUF file" "$folder/error.txt" || fail "$(cat "$folder/error.txt")"
if study 2>"$folder/error.txt"; then fail "ran without a model"; fi
grep -q "put SmolLM2-135M-Instruct.Q4_1.gguf into" "$folder/error.txt" || fail "$(cat "$folder/error.txt")"

toy=(--model "$root/data/lm-llama" --text "$folder/text.txt")
study "${toy[@]}" >"$folder/first.txt"
for name in collapse entropy-raw-rest geometry attention sweep-heads lens tuned-lens separability tsne blimp; do
  [ -s "$folder/out/$name.json" ] || fail "$name.json is missing"
  [ -s "$folder/out/figures/$name.png" ] || [ "$name" = entropy-raw-rest ] || fail "the figure of $name is missing"
done
[ -s "$folder/out/report.html" ] || fail "the report is missing"
grep -q "left out: benchmarks: no validation" "$folder/first.txt" || fail "does not say what is left out"

before=$(sha256sum "$folder"/out/{*.json,times.tsv})
study "${toy[@]}" >"$folder/second.txt"
[ "$before" = "$(sha256sum "$folder"/out/{*.json,times.tsv})" ] || fail "a second run repeated a step"

# What is left of a step that was killed: a table and a result, without the mark of a finished step.
rm "$folder/out/finished/entropy-raw"
echo '{' >"$folder/out/entropy-raw.json"
study "${toy[@]}" --only entropy >"$folder/third.txt"
grep -q '   entropy-raw$' "$folder/third.txt" || fail "an unfinished step was not repeated"
grep -q '"rows"' "$folder/out/entropy-raw.json" || fail "an unfinished result was kept"
