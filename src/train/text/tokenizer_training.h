// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

#include "train/text/tokenized_text.h"

namespace lime {

/// Returns the folder of a SentencePiece tokenizer (tokenizer.model, and the same as tokenizer.json
/// with tokenizer_config.json for transformers, see tokenizer_json_of()) trained on the training
/// part of the text, see train_sentencepiece_model(). Reuses `folder` if it contains one for the
/// same text and size, otherwise trains into it.
/// @throws InvalidArgument  if the text is blank, or too short for `vocab_size` pieces.
/// @throws IoError, FormatError  as visit_documents().
std::filesystem::path trained_tokenizer(const TextSource& source, std::int64_t vocab_size,
                                        const std::filesystem::path& folder);

}  // namespace lime
