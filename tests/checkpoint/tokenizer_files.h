// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "checkpoint/tokenizer.h"
#include "core/json.h"
#include "support/test_data.h"

namespace lime::testing {

/// The tokenizer.json inside a golden file, by the name of its kind.
Json golden_tokenizer_json(const std::string& kind);

/// Writes `json` as the tokenizer.json of a folder of its own and loads that.
std::unique_ptr<Tokenizer> load_tokenizer_json(const Json& json);
std::unique_ptr<Tokenizer> load_tokenizer_text(const std::string& content);

/// The message of the lime::Error that loading `content` as tokenizer.json throws, from the file's
/// name on; fails the test if none is thrown or if it has several lines.
std::string error_of(const std::string& content);

}  // namespace lime::testing
