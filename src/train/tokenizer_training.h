// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

#include "train/tokenized_text.h"

namespace lime {

/// The folder of a SentencePiece tokenizer (tokenizer.model, tokenizer_config.json) that was
/// trained on the training part of the text, as train_sentencepiece_model() does: `folder`, where
/// it is made unless it is there already, for the same text and size.
/// @throws InvalidArgument  if the text is blank, or too short for `vocab_size` pieces.
/// @throws IoError, FormatError  as visit_documents().
std::filesystem::path trained_tokenizer(const TextSource& source, std::int64_t vocab_size,
                                        const std::filesystem::path& folder);

}  // namespace lime
