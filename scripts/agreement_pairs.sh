#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Generates minimal pairs of subject-verb agreement in BLiMP format from its own word lists: a
# sentence with is, are, was or were, and the same sentence with the verb in the wrong number. Each
# of five constructions has COUNT pairs; the four verbs are equally frequent.
# Usage: agreement_pairs.sh [COUNT] [pairs|sentences]   (sentences: only the good ones, one per line)
set -euo pipefail

awk -v count="${1:-60}" -v form="${2:-pairs}" '
# Lehmer 1951, with the constants of Park and Miller 1988: gives the same numbers in every awk.
function draw(n) { state = (state * 16807) % 2147483647; return state % n + 1 }
function noun(plural,   word) {
  word = nouns[draw(num_nouns)]
  if (plural) sub(/y$/, "ie", word)  # theories
  return plural ? word "s" : word
}
function subject(construction, plural) {
  if (construction == "attractor") return "The " noun(plural) " of the " noun(!plural)
  if (construction == "relative") {
    return "The " noun(plural) " that the " people[draw(num_people)] " saw"
  }
  return "The " noun(plural)
}
function predicate(construction, plural) {
  if (construction == "participle") {
    return participles[draw(num_participles)] " in the " places[draw(num_places)]
  }
  if (construction == "existential") {
    return (plural ? "many " : "one ") noun(plural) " in the " places[draw(num_places)]
  }
  return adjectives[draw(num_adjectives)]
}
function sentence(when, start, verb, rest,   text) {
  text = start " " verb " " rest "."
  return when == "" ? text : when " " tolower(substr(text, 1, 1)) substr(text, 2)
}
BEGIN {
  state = 2026
  num_nouns = split("cell law market teacher student river king theory wall bone planet number " \
    "method plant group school letter engine result road muscle price molecule house war", nouns)
  num_people = split("woman man doctor worker child", people)
  num_places = split("city water north blood world book air empire", places)
  num_adjectives = split("small large new strong important common different simple old free", adjectives)
  num_participles = split("found used made seen known produced measured taken", participles)
  num_times = split("Today,|In general,||Now||At first,|In 1900,||Long ago,|", times, "|") / 2
  split("is are was were", verbs)
  num_constructions = split("plain attractor relative participle existential", constructions)
  for (c = 1; c <= num_constructions; ++c) {
    construction = constructions[c]
    for (i = 0; i < count; ++i) {
      plural = i % 2
      past = int(i / 2) % 2
      do {  # no duplicate sentences
        when = times[past * num_times + draw(num_times)]
        start = construction == "existential" ? "There" : subject(construction, plural)
        rest = predicate(construction, plural)
        good = sentence(when, start, verbs[1 + plural + 2 * past], rest)
      } while (good in made)
      made[good] = 1
      bad = sentence(when, start, verbs[2 - plural + 2 * past], rest)
      if (form == "sentences") {
        print good
        continue
      }
      printf "{\"sentence_good\": \"%s\", \"sentence_bad\": \"%s\", ", good, bad
      printf "\"UID\": \"%s\", ", construction
      printf "\"field\": \"syntax\", \"linguistics_term\": \"subject_verb_agreement\"}\n"
    }
  }
}'
