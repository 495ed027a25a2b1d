// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace lime {
class CaptureReader;
class Tokenizer;
}  // namespace lime

namespace lime::explorer {

/// Returns the folder behind --checkpoint in a command line; empty if there is none.
std::filesystem::path checkpointOf(const std::string& command);

/// A tokenizer, and the folder that it is from.
struct FoundTokenizer {
  std::filesystem::path folder;
  std::shared_ptr<const Tokenizer> tokenizer;
};

/// Finds the tokenizer of `capture` in `folders`, or in the folder that its command line names: the
/// one whose hash is the capture's. Both parts are empty where there is none.
FoundTokenizer findTokenizer(const CaptureReader& capture,
                             const std::vector<std::filesystem::path>& folders);

}  // namespace lime::explorer
