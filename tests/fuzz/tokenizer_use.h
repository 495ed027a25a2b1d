// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

namespace lime::fuzz {

/// Loads the tokenizer of `folder`, encodes and decodes some texts, and reads every token.
/// @param text  an additional text; empty for none.
void use_tokenizer(const std::filesystem::path& folder, std::string_view text = {});

}  // namespace lime::fuzz
