#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Redraws the figures in docs/images that show the checkpoints in data/, with the commands of the
# guides at 150 dpi, and the screenshots of the explorer, from the results of scripts/demo.sh in out/.
# Computes the results that only these figures need. Names as arguments, such as "entropy geometry",
# select figures. Figures of the reproduction runs are not drawn here.
set -euo pipefail
cd "$(dirname "$0")/.."

bin=build/release/bin
out=out
images=docs/images
pictures=("$@")
drawn=0

for needed in aet-llama.h5 aet-lime.h5 expressions.txt \
  {compared,separability,small-numbers,similarity,router,counterfactual,agreement,cost}.json \
  sentences.txt agreement-probes.json; do
  if [[ ! -e $out/$needed ]]; then
    echo "draw_docs_images: $out/$needed is missing; run scripts/demo.sh first" >&2
    exit 1
  fi
done

wanted() {  # FIGURE...: true if one of them is selected
  local name
  [[ ${#pictures[@]} -eq 0 ]] && return 0
  for name in "$@"; do
    [[ " ${pictures[*]} " == *" $name "* ]] && return 0
  done
  return 1
}
draw() {  # FIGURE RESULTS OPTION...
  wanted "$1" || return 0
  "$bin/lime-figure" "${@:2}" --dpi 150 -o "$images/$1.png"
  echo "   $images/$1.png"
  drawn=$((drawn + 1))
}

both=(--label LLaMA LIMe)
if wanted geometry; then
  "$bin/lime-metrics" geometry "$out/aet-llama.h5" "$out/aet-lime.h5" "${both[@]}" --site hidden \
    --measure rank,similarity,curvature,dimension -o "$out/geometry.json" --quiet
fi
if wanted attention attention-routed attention-heads; then
  for model in llama lime; do
    rm -rf "$out/patterns-$model".{h5,shards}
    "$bin/lime-capture" --checkpoint "data/aet-$model" --lines "$out/expressions.txt" \
      --max-sequences 200 --sites values,attn.hook_pattern -o "$out/patterns-$model.h5" --quiet
  done
  "$bin/lime-metrics" attention "$out/patterns-lime.h5" --sequence 3 --layer 1-3 --query 9 \
    --checkpoint data/aet-lime -o "$out/attention.json" --quiet
  "$bin/lime-metrics" attention "$out/patterns-llama.h5" "$out/patterns-lime.h5" "${both[@]}" \
    -o "$out/heads.json" --quiet
fi

if wanted lens correlates-entropy; then
  for model in llama lime; do
    rm -rf "$out/sentences-$model".{h5,shards}
    "$bin/lime-capture" --checkpoint "data/lm-$model" --lines "$out/sentences.txt" \
      --sites hidden,logit_lens -o "$out/sentences-$model.h5" --quiet
  done
  sentences=("$out/sentences-llama.h5" "$out/sentences-lime.h5" "${both[@]}")
  "$bin/lime-metrics" lens "${sentences[@]}" -o "$out/lens.json" --quiet
  "$bin/lime-metrics" entropy "${sentences[@]}" --preset raw -o "$out/raw.json" --quiet
fi

if wanted sweep-heads; then
  "$bin/lime-capture" sweep --checkpoint data/lm-lime --lines "$out/sentences.txt" \
    --max-sequences 200 --over heads -o "$out/sweep-heads.json" --quiet
fi

if wanted series; then
  mkdir -p "$out/series"
  "$bin/lime-train" generate --task aet --operands 3,4 --count 300 --seed 2026 -o "$out/series/expressions.txt"
  for step in 1 10 30 100 300 1000 2000; do
    run=$out/series/step-$step
    if [ ! -e "$run" ]; then
      rm -rf "$run.unfinished"
      "$bin/lime-train" --task aet --decoder lime --train-samples 50000 --learning-rate 1e-3 \
        --schedule constant --steps "$step" --seed 1 --threads 1 --quiet -o "$run.unfinished"
      mv "$run.unfinished" "$run"
    fi
    rm -rf "$out/series/lime-step-$step".{h5,shards}
    "$bin/lime-capture" --checkpoint "$run" --lines "$out/series/expressions.txt" --sites hidden \
      -o "$out/series/lime-step-$step.h5" --quiet
  done
  "$bin/lime-metrics" series "$out"/series/lime-step-*.h5 --max-rows 1024 -o "$out/series.json" --quiet
fi

if wanted views; then
  awk '{for (v = 1; v <= 4; ++v) {line = ""; for (i = 1; i <= NF; ++i) if (i != v) line = line " " $i
        printf "%s%s", substr(line, 2), v < 4 ? "\t" : "\n"}}' "$out/sentences.txt" >"$out/views.tsv"
  for model in llama lime; do
    rm -rf "$out/views-$model".{h5,shards}
    "$bin/lime-capture" --checkpoint "data/lm-$model" --views "$out/views.tsv" --sites hidden \
      -o "$out/views-$model.h5" --quiet
  done
  "$bin/lime-metrics" geometry "$out"/views-{llama,lime}.h5 "${both[@]}" --measure views --jackknife 10 \
    -o "$out/views.json" --quiet
fi

draw views "$out/views.json" --layer-base 1
draw entropy "$out/compared.json" --layer-base 1
draw comparison-entropy "$out/compared.json" --kind comparison --layer-base 1
draw separability "$out/separability.json" --layer-base 1
draw embeddings-small-numbers "$out/small-numbers.json" --layer-base 1
draw geometry "$out/geometry.json" --site hidden --layer-base 1
draw similarity "$out/similarity.json" --layer-base 1
draw sweep-heads "$out/sweep-heads.json"
draw attention "$out/attention.json" --layer 3 --head 2,4 --layer-base 1
draw attention-routed "$out/attention.json" --kind attention-routed --layer 4 --layer-base 1
draw attention-heads "$out/heads.json" --measure first_share --layer-base 1
draw router-mean "$out/router.json" --layer-base 1
draw router-heads "$out/router.json" --kind router-heads --layer-base 1
draw router-signed "$out/router.json" --kind router-signed --layer-base 1
draw counterfactual "$out/counterfactual.json" --layer-base 1
draw counterfactual-change "$out/counterfactual.json" --kind counterfactual-change --layer-base 1
draw counterfactual-gap "$out/counterfactual.json" --kind counterfactual-gap --layer-base 1
draw blimp "$out/agreement.json" --by task
draw blimp-table "$out/agreement.json" --kind blimp-table --by task
draw loss data/aet-llama data/aet-lime --log-y
draw operands data/aet-llama data/aet-lime --kind operands
draw cost "$out/cost.json"
draw lens "$out/lens.json" --measure loss,kl_to_final --columns 2 --size acl-page --layer-base 1
draw correlates-entropy "$out/raw.json" --layer-base 1
draw series "$out/series.json" --log-x --size acl-page --layer-base 1
draw correlates-scores "$out/agreement-probes.json" --layer-base 1

shoot() {  # NAME VIEW STATE OPTION|FILE...: write a screenshot of one view
  wanted "explorer-$1" || return 0
  local folder
  folder=$(mktemp -d)
  QT_QPA_PLATFORM=offscreen "$bin/lime-explorer" --no-session --screenshot "$folder" \
    --state "$3" "${@:4}" 2>/dev/null
  mv "$folder/$2.png" "$images/explorer-$1.png"
  rm -r "$folder"
  echo "   $images/explorer-$1.png"
  drawn=$((drawn + 1))
}
models=(data/aet-llama data/aet-lime)
if wanted explorer-text; then
  rm -rf "$out/text-lime".{h5,shards}
  "$bin/lime-capture" --checkpoint data/aet-lime --lines "$out/expressions.txt" \
    --max-sequences 200 --sites values,hidden,attn.hook_pattern -o "$out/text-lime.h5" --quiet
fi
lines='11 + 91 - 91 = 102 - 91 =\n3 x 9 x 4 = 27 x 4 = 108\n'
lines+='( 10 x 1 + 2 ) x 9 = ( 10 + 2 ) x 9 = 12 x 9 = 108\n'
lines+='85 + 1 + 0 + 2 = 86 + 0 + 2 = 86 + 2 = 88\n7 x ( 0 + 9 ) = 7 x 9 = 63'
edits='[{"layer": 2, "source": 0, "scale": 0},
  {"layer": 3, "head": 1, "source": 2, "source_head": 2, "scale": 0.5}]'
cluster='[261, 765, 778, 165, 13, 761, 482, 361, 348, 400, 147, 141, 476, 51]'
shoot start start '{}'
for number in 1 2 3; do shoot "question-$number" "question-$number" '{}'; done
shoot router router '{"router": {"layer": 2, "head": 1, "source_layer": 0}}' \
  "${models[@]}" "$out"/aet-{llama,lime}.h5
shoot flow router '{"router": {"layer": 3, "head": 0, "source_layer": 3, "detail": 1}}' \
  --theme dark "${models[@]}" "$out"/aet-{llama,lime}.h5
shoot collapse collapse '{"selection": {"layer": 1}}' "${models[@]}" "$out"/aet-{llama,lime}.h5
shoot embeddings embeddings \
  '{"selection": {"layer": 3, "rows": '"$cluster"'}, "embeddings": {"layer": 3}}' \
  "${models[@]}" "$out/small-numbers.json" "$out"/numbers-{llama,lime}.h5
shoot probes probes '{"selection": {"layer": 3}, "probes": {"probe": "blimp", "model": "LLaMA"}}' \
  "$out/agreement-probes.json" "$out"/agreement-{llama,lime}.h5
shoot text text '{"selection": {"layer": 2}, "text": {"site": "hidden", "sequence": 3,
  "attention": true, "head": 1}}' data/aet-lime "$out/text-lime.h5"
shoot interventions interventions '{"router": {"layer": 2, "head": 0, "source_layer": 0},
  "interventions": {"scored": 1, "scored_text": "=", "scope": "layer_source", "edits": '"$edits"', "text": "'"$lines"'",
  "run": true}}' "${models[@]}"

# The benchmarks are not part of the project.
shared=${LIME_TEST_DATA:-../shared}
if wanted choices-layers && [[ -d $shared/benchmarks ]]; then
  "$bin/lime-eval" --checkpoint "$shared/checkpoints/stories260k" --tasks copa wic qnli --layers all \
    --data "$shared/benchmarks/lm-eval-goldens/data" --probes -o "$out/stories.jsonl" --quiet
  "$bin/lime-metrics" choices "$out/stories.jsonl" --label stories260K -o "$out/stories.json" --quiet
  draw choices-layers "$out/stories.json" --kind choices-layers --layer-base 1
fi

if ((drawn < ${#pictures[@]})); then
  echo "draw_docs_images: drew $drawn of '${pictures[*]}'; see $0 for the names" >&2
  exit 1
fi
