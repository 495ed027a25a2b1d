#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every command of lime-metrics and lime-figure once, and every view of lime-explorer, on small
# captures of the checkpoints in data/:
#   every_command.sh PROGRAMS LIME_CAPTURE OUTPUT [CHECKER...]
# PROGRAMS contains the three, built for a sanitizer or to be run by CHECKER, and optionally
# lime-eval. LIME_CAPTURE may be from another build; lime-train and lime-eval beside it prepare the
# input. Exits with 1 if a command fails; OUTPUT/NAME.log has the reason.
set -euo pipefail
programs=$(realpath "$1")
capture=$(realpath "$2")
output=$3
checker=("${@:4}")
root=$(cd "$(dirname "$0")/../.." && pwd)
export QT_QPA_PLATFORM=offscreen OMP_NUM_THREADS=1 LC_ALL=C.UTF-8

rm -rf "$output"
mkdir -p "$output"
cd "$output"
for i in $(seq 40); do
  echo "$((i % 7 + 2)) + $((i % 5 + 1)) - $((i % 3 + 1)) = $((i % 7 + i % 5 + 3)) - $((i % 3 + 1)) = $((i % 7 + i % 5 - i % 3 + 2))"
done >expressions.txt
"$root/scripts/arithmetic_pairs.sh" expressions.txt 40 >pairs.jsonl
paste expressions.txt <(rev expressions.txt) >views.tsv
for model in llama lime; do
  take() { "$capture" --checkpoint "$root/data/aet-$model" --quiet --threads 2 "$@"; }
  take --lines expressions.txt --max-sequences 10 --sites values,hidden,attn.hook_pattern -o "$model.h5"
  take --lines expressions.txt --only ' 1, 2, 3' --sites hidden -o "words-$model.h5"
  take --pairs pairs.jsonl --rows mean --sites hidden --log-likelihood -o "pairs-$model.h5"
  take --lines expressions.txt --max-sequences 10 --sites logit_lens,attn.hook_profile \
    -o "lens-$model.h5"
  take --views views.tsv --sites hidden -o "views-$model.h5"
  "$capture" pack "$model.h5" -o "$model-2.h5" --quiet
done

# Decoders whose routing weights only a capture contains: of the residual stream, of keys and values
train() {
  "$(dirname "$capture")/lime-train" --task aet --train-samples 40 --test-samples 4 --steps 2 \
    --batch-size 4 --quiet "$@"
}
train --decoder mhc -o mhc
train --decoder lime --dynamic-router -o dynamic
"$capture" --checkpoint mhc --lines expressions.txt --sites hook_depth_weights -o mhc.h5 --quiet
"$capture" --checkpoint dynamic --lines expressions.txt --sites attn.hook_route -o dynamic.h5 --quiet

for i in $(seq 12); do
  echo "{\"prompt\": \"$i + 2 =\", \"choices\": [\"$((i + 2))\", \"$((i + 3))\"], \"gold\": 0}"
done >items.jsonl
answer=(--tasks choices --data items.jsonl --fewshot-data items.jsonl --shots 1 --layers all --quiet)
for model in llama lime; do
  "$(dirname "$capture")/lime-eval" --checkpoint "$root/data/aet-$model" "${answer[@]}" \
    -o "answers-$model.jsonl" >/dev/null
done

failed=0
# check [-s STATUS] NAME PROGRAM ARGUMENT...: runs it and expects STATUS, by default 0
check() {
  local expected=0 start=$SECONDS status=0
  if [ "$1" = -s ]; then
    expected=$2
    shift 2
  fi
  local name=$1 program=$2
  shift 2
  "${checker[@]}" "$programs/$program" "$@" >"$name.log" 2>&1 || status=$?
  if [ "$status" = "$expected" ]; then
    echo "$name: $((SECONDS - start)) s"
  else
    echo "$name: status $status; see $output/$name.log"
    failed=1
  fi
}

# measure NAME ARGUMENT...: writes NAME.json, .csv and .tex
measure() {
  local name=$1
  shift
  check "$name" lime-metrics "$@" --threads 2 --quiet -o "$name.json" -o "$name.csv" -o "$name.tex"
}

both=(llama.h5 lime.h5 --label LLaMA LIMe)
words=(words-llama.h5 words-lime.h5 --label LLaMA LIMe)
pairs=(pairs-llama.h5 pairs-lime.h5 --label LLaMA LIMe)
compare=(--compare first --compare-resamples 200)
models=("$root/data/aet-llama" "$root/data/aet-lime")
measure entropy entropy "${both[@]}" --site values,hidden --bootstrap 200 "${compare[@]}"
measure entropy-bounds entropy lime.h5 --site hidden --top-k 2 --bootstrap 0
for preset in raw seq-vcr layer-by-layer matrix-entropy; do
  measure "entropy-$preset" entropy lime.h5 --site hidden --preset "$preset" --bootstrap 0
done
measure entropy-diff-erank entropy "${both[@]}" --site hidden --preset diff-erank --bootstrap 0
measure entropy-skip entropy lime.h5 --site hidden --skip-tokens 2 --dataset mean,last --bootstrap 0
measure entropy-runs entropy llama.h5 llama-2.h5 lime.h5 lime-2.h5 --site hidden \
  --label a1 a2 b1 b2 --runs A,A,B,B --compare-resamples 200
measure separability separability "${words[@]}" --layer 0,2 --method both --control shuffled --folds 2
measure separability-c separability words-lime.h5 --layer 1 --folds 2 --group sequence \
  --c 0.1,1,10 --inner-folds 2 --control shuffled,random-features
measure blimp blimp "${pairs[@]}" --layer 1 --folds 2 --bootstrap 200 --judgements judgements.jsonl
measure blimp-c blimp pairs-lime.h5 --layer 1 --folds 2 --c 0.1,1,10 --control --by task
measure blimp-zero-shot blimp --zero-shot "${pairs[@]}" --bootstrap 200
measure tsne tsne "${words[@]}" --layer 1 --perplexity 5 --iterations 60 --align
measure tsne-trees tsne words-lime.h5 --layer 1 --perplexity 5 --iterations 60 \
  --repulsion barnes-hut --neighbors ivf
measure geometry geometry "${both[@]}" --site hidden --layer 0,2 --ranks both --jackknife 5
measure geometry-spectrum geometry lime.h5 --site hidden --layer 1 --skip-tokens 1 \
  --measure first-token,power-law --power-law-first 2 --power-law-last 8
measure views geometry views-llama.h5 views-lime.h5 --measure views --jackknife 5
measure similarity similarity "${both[@]}" --site hidden --jackknife 5 "${compare[@]}"
measure similarity-change similarity "${both[@]}" --site hidden --measure change,neighbors --k 3 \
  --skip-tokens 1
measure tokens tokens "${both[@]}" --site hidden --checkpoint "${models[1]}"
measure attention attention "${both[@]}" --bootstrap 200
measure attention-profile attention lens-lime.h5 --bootstrap 200
measure attention-sequence attention lime.h5 --sequence 1 --query 4 --checkpoint "${models[1]}"
measure router router "${models[1]}" lime.h5 --label LIMe --detail weights
measure router-sources router mhc mhc.h5
measure router-tokens router dynamic dynamic.h5
measure router-plain router "${models[0]}"
measure lens lens lens-llama.h5 lens-lime.h5 --label LLaMA LIMe --skip-tokens 1 --bootstrap 200 \
  "${compare[@]}"
{
  echo label,layer,score
  for layer in 0 1 2 3; do echo "LLaMA,$layer,0.$((5 + layer))" && echo "LIMe,$layer,0.$((9 - layer))"; done
} >scores.csv
measure correlates correlates entropy.json --scores scores.csv
measure audit audit "${models[1]}" --text expressions.txt --seq-len 16 --max-sequences 6 --layer 0,1 \
  --transform route-scale --metric entropy-raw,collapse,router
measure series series llama.h5 llama-2.h5 --steps 1,2 --model m m --site hidden --jackknife 5
measure choices choices answers-llama.jsonl answers-lime.jsonl --label LLaMA LIMe \
  --preset corrected "${compare[@]}"
measure choices-runs choices answers-llama.jsonl answers-lime.jsonl --label A A
if [ -x "$programs/lime-eval" ]; then
  check eval lime-eval --checkpoint "${models[1]}" "${answer[@]}" --threads 1 -o answers.jsonl
  check eval-samples lime-eval --checkpoint "${models[1]}" --samples answers-lime.jsonl --quiet \
    --threads 1 -o again.jsonl
fi
measure counterfactual counterfactual lime.h5 --against llama.h5 --label LIMe LLaMA \
  --router trained,identity,last-1,random --bootstrap 200
measure cost cost "${models[@]}" --sequence-length 512
check rerun lime-metrics rerun entropy.json --quiet
check -s 1 refusal lime-metrics entropy lime.h5 expressions.txt
check figures lime-figure all ./*.json "${models[@]}" -o figures --format pdf,svg,png,csv,tex --dpi 60
check figure lime-figure router.json --kind router-heads --size acl-page --theme dark -o heads.svg
check figure-list lime-figure --list
check figure-provenance lime-figure --show-provenance heads.svg
state='{"selection": {"layer": 1, "rows": [25]}, "text": {"sequence": 1, "attention": true}}'
check window lime-explorer --no-session --screenshot window --state "$state" \
  {,words-,pairs-}{llama,lime}.h5 "${models[1]}"
check window-results lime-explorer --no-session --screenshot window-results ./*.json
exit "$failed"
