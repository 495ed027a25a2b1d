// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "checkpoint/tokenizer.h"
#include "core/json.h"
#include "support/test_data.h"

namespace lime::testing {

/// Returns the tokenizer.json in a golden file, by the name of its kind.
Json golden_tokenizer_json(const std::string& kind);

/// Writes `json` as tokenizer.json to a temporary folder and loads it.
std::unique_ptr<Tokenizer> load_tokenizer_json(const Json& json);
std::unique_ptr<Tokenizer> load_tokenizer_text(const std::string& content);

/// Returns the message of the lime::Error thrown when loading `content` as tokenizer.json, from the
/// file name on; fails the test if nothing is thrown or if the message has several lines.
std::string error_of(const std::string& content);

}  // namespace lime::testing
