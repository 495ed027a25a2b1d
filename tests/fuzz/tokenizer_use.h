// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

#include "checkpoint/tokenizer.h"

namespace lime::fuzz {

/// Loads the tokenizer of `folder`, encodes and decodes some texts, and reads every token.
/// @param text  an additional text; empty for none.
void use_tokenizer(const std::filesystem::path& folder, std::string_view text = {});

/// Returns the tokenizer of a small checkpoint, for readers of texts.
const Tokenizer& tiny_tokenizer();

}  // namespace lime::fuzz
