// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "checkpoint/sentencepiece/sentencepiece_model.h"

// The functions of the plug-in, which sentencepiece_model.cpp looks up by name.

extern "C" {

/// Returns the model, which the caller deletes, or null if `data` is none.
[[gnu::visibility("default")]] lime::SentencePieceModel* lime_parse_sentencepiece_model(
    const char* data, std::size_t size);

/// Writes the content of a tokenizer.model to `model`; as train_sentencepiece_model().
[[gnu::visibility("default")]] void lime_train_sentencepiece_model(
    std::int32_t vocab_size, const std::function<std::optional<std::string_view>()>& next_line,
    std::string& model);
}
