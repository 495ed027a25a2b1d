#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fetches the published data of the tests into FOLDER, by default LIME_TEST_DATA, else ../shared:
#   scripts/test_data.sh [FOLDER]
# Prints source and licence of each part. A part that exists is kept. Tests whose data are absent are skipped.
#   BLiMP, ProsQA         from GitHub, at a fixed commit, with git
#   GPT-2's tokenizer     from the Hugging Face Hub, with hf (pip install huggingface_hub)
#   text/sentences.txt    generated here (scripts/agreement_pairs.sh)
# What has no public source in this form is listed at the end.
set -euo pipefail
cd "$(dirname "$0")/.."
case "${1:-}" in
  -*) sed -n '3,/^set -e/{/^set -e/d;s/^# \{0,1\}//p;}' "$0"; exit 0 ;;
esac
folder=${1:-${LIME_TEST_DATA:-../shared}}
mkdir -p "$folder"
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
failed=0

# Prints a part, its source and its licence, and returns whether it is still to be fetched.
begin() {  # FILE NAME SOURCE LICENCE
  printf '%-19s %s (%s)\n' "$2" "$3" "$4"
  if [ -e "$folder/$1" ]; then
    echo "                    exists: $folder/$1"
    return 1
  fi
}

missing() {
  echo "test_data: $*" >&2
  failed=1
}

# Copies files of a repository at a commit, and the commit into SOURCE.md.
from_git() {  # REPOSITORY COMMIT TARGET FILE...
  local work=$temporary/${1//\//-} url=https://github.com/$1
  # Without files that are not needed, such as ProsQA's training data.
  if ! { git clone --quiet --filter=blob:none --no-checkout "$url" "$work" &&
    git -C "$work" checkout --quiet "$2" -- "${@:4}"; } 2>"$temporary/git.log"; then
    tail -n 1 "$temporary/git.log" >&2
    missing "$url cannot be fetched; copy ${*:4} of it into $folder/$3"
    return
  fi
  mkdir -p "$folder/$3"
  find "$work" -type f -not -path '*/.git/*' -exec cp {} "$folder/$3" ';'
  echo "Files of $url at $2, unchanged." >"$folder/$3/SOURCE.md"
}

if begin blimp BLiMP github.com/alexwarstadt/blimp "CC BY 4.0"; then
  from_git alexwarstadt/blimp 3e56b06fcabca9b30822fc66435fca6b1aa40bb1 blimp 'data/*.jsonl'
fi
if begin prosqa ProsQA github.com/facebookresearch/coconut MIT; then
  from_git facebookresearch/coconut 27273cb8cca4bb763c041a63b036d0c3b7cbbb48 prosqa \
    LICENSE data/prosqa_test.json data/prosqa_valid.json
fi
if begin tokenizers/gpt2 "GPT-2's tokenizer" huggingface.co/openai-community/gpt2 MIT; then
  if ! command -v hf >/dev/null; then
    missing "hf is not installed; pip install huggingface_hub, and run this script again"
  elif ! hf download openai-community/gpt2 tokenizer.json vocab.json merges.txt \
    --local-dir "$temporary/gpt2" >"$temporary/hf.log" 2>&1; then
    missing "hf cannot download openai-community/gpt2: $(tail -n 1 "$temporary/hf.log")"
  else
    mkdir -p "$folder/tokenizers/gpt2"
    cp "$temporary"/gpt2/*.{json,txt} "$folder/tokenizers/gpt2"
  fi
fi
if begin text/sentences.txt "Sentences" "scripts/agreement_pairs.sh" Apache-2.0; then
  mkdir -p "$folder/text"
  scripts/agreement_pairs.sh 2000 sentences >"$folder/text/sentences.txt"
fi
cat <<EOF

Not fetched:
  text/              fineweb-edu-sample.txt (ODC-By 1.0) and OpenStax textbooks (CC BY 4.0) as plain text: put any .txt
                     files there for bench/; the tests that need these texts are skipped
  benchmarks/        the published files of each task: docs/evaluation.md lists the names that are expected
  checkpoints/       converted from stories260K of karpathy/llama2.c (MIT); its tests are skipped
  LIME_REAL_MODEL    hf download HuggingFaceTB/SmolLM2-135M --local-dir FOLDER (Apache-2.0)
EOF
exit "$failed"
