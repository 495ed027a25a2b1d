// SPDX-License-Identifier: Apache-2.0
#include "explorer/models/found_tokenizer.h"

#include <sstream>
#include <utility>

#include "checkpoint/tokenizer.h"
#include "core/errors.h"
#include "store/capture_reader.h"

namespace lime::explorer {
namespace {

constexpr int kFoldersUp = 3;  // in which the checkpoint of a capture is searched

}  // namespace

std::filesystem::path checkpointOf(const std::string& command) {
  std::istringstream words(command);
  std::string word;
  while (words >> word) {
    if (word == "--checkpoint" && words >> word) return word;
    if (word.starts_with("--checkpoint=")) return word.substr(13);
  }
  return {};
}

FoundTokenizer findTokenizer(const CaptureReader& capture,
                             const std::vector<std::filesystem::path>& folders) {
  std::vector<std::filesystem::path> candidates = folders;
  const std::filesystem::path named = checkpointOf(capture.info().command);
  candidates.push_back(named);
  // A relative path was relative to the folder of the run, which often contains the capture.
  std::filesystem::path above = capture.path().parent_path();
  for (int i = 0; i < kFoldersUp && !named.empty() && named.is_relative(); ++i) {
    candidates.push_back(above / named);
    above = above.parent_path();
  }
  for (const std::filesystem::path& folder : candidates) {
    if (folder.empty() || capture.info().tokenizer_sha256.empty()) continue;
    try {
      std::shared_ptr<const Tokenizer> tokenizer = load_tokenizer(folder);
      if (tokenizer->sha256() == capture.info().tokenizer_sha256) return {folder, tokenizer};
    } catch (const Error&) {
      // A checkpoint that has moved: sentences are shown without the token.
    }
  }
  return {};
}

}  // namespace lime::explorer
