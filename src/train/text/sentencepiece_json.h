// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/sentencepiece/sentencepiece_model.h"
#include "core/json.h"

namespace lime {

/// Returns the tokenizer.json that gives the ids of a model of train_sentencepiece_model(), with
/// BOS before every text, for transformers, which converts a tokenizer.model differently from
/// version to version.
///
/// SentencePiece joins the neighbours whose joint piece was learned first. Pieces are numbered in
/// that order, so a piece's merges are all its splits into two pieces, ordered by its id.
Json tokenizer_json_of(const SentencePieceModel& model);

}  // namespace lime
