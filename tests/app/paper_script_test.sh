#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the script of the paper's measurements without the test data: skipped measurements are
# listed, the rest runs, a second run changes nothing, and every result is reproduced.
#   paper_script_test.sh PROGRAMS FOLDER
set -euo pipefail
script=$(cd "$(dirname "$0")/../.." && pwd)/bench/paper/measure.sh
folder=$2
rm -rf "$folder"
mkdir -p "$folder"
export LIME_TEST_DATA=$folder/absent

"$script" --programs "$1" --out "$folder/out" --threads 2 --expressions 400 --jackknife 5 \
  >"$folder/first.txt"
grep -q "left out: BLiMP: '$folder/absent/checkpoints/stories260k' is absent" "$folder/first.txt"
for name in aet-entropy-mean aet-geometry counterfactual router-aet-lime cost; do
  [ -s "$folder/out/$name.txt" ] || { echo "$name is missing"; exit 1; }
done
before=$(sha256sum "$folder"/out/*.json)
"$script" --programs "$1" --out "$folder/out" --threads 2 --expressions 400 --jackknife 5 \
  --rerun >"$folder/second.txt"
[ "$before" = "$(sha256sum "$folder"/out/*.json)" ] || { echo "a second run changed results"; exit 1; }
if grep ": differs" "$folder/second.txt"; then exit 1; fi
