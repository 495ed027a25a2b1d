// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

namespace lime::fuzz {

/// Loads the tokenizer of `folder`, turns a few texts into ids and back, and reads every token.
/// @param text  one more of the texts; empty for none.
void use_tokenizer(const std::filesystem::path& folder, std::string_view text = {});

}  // namespace lime::fuzz
