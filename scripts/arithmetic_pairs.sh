#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Generates minimal pairs in BLiMP format from solved expressions (lime-train generate): the last
# step unchanged, and with one number or operator wrong. Usage: arithmetic_pairs.sh FILE [COUNT]
set -euo pipefail

awk -v most="${2:-300}" '
function pair(name, field, value,   kept, good, bad) {
  good = $0
  kept = $field
  $field = value
  bad = $0
  $field = kept
  printf "{\"sentence_good\": \"%s\", \"sentence_bad\": \"%s\", \"UID\": \"%s\", ", good, bad, name
  printf "\"field\": \"arithmetic\", \"linguistics_term\": \"%s\"}\n", name
}
function off_by_one(number) { return number < 110 ? number + 1 : number - 1 }
# The last step: ... = A OPERATOR B = RESULT
NF >= 7 && $(NF - 5) == "=" && count < most {
  ++count
  pair("wrong_result", NF, off_by_one($NF))
  pair("wrong_operand", NF - 4, off_by_one($(NF - 4)))
  pair("wrong_operator", NF - 3, $(NF - 3) == "+" ? "-" : "+")
}' "$1"
