// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

namespace lime {
class CaptureReader;
class Tokenizer;
}  // namespace lime

namespace lime::explorer {

/// A token in its sentence. Without a tokenizer `token` is empty and the sentence is in `before`.
struct TokenInSentence {
  QString before;
  QString token;
  QString after;
};

/// Finds the tokens of a capture in its texts. May be used from any thread.
class SentenceReader {
 public:
  /// @param tokenizer  the one that the capture was made with; may be null.
  SentenceReader(std::shared_ptr<const CaptureReader> capture,
                 std::shared_ptr<const Tokenizer> tokenizer);

  const CaptureReader& capture() const { return *capture_; }
  const std::shared_ptr<const CaptureReader>& sharedCapture() const { return capture_; }

  /// The token for people to read; "#17" without a tokenizer.
  QString tokenText(std::int32_t token) const;
  TokenInSentence at(std::int32_t sequence, std::int32_t position, std::int32_t token) const;

 private:
  std::shared_ptr<const CaptureReader> capture_;
  std::shared_ptr<const Tokenizer> tokenizer_;
};

/// A tokenizer, and the folder that it is from.
struct FoundTokenizer {
  std::filesystem::path folder;
  std::shared_ptr<const Tokenizer> tokenizer;
};

/// The tokenizer that `capture` was made with, as tokenizerOf(); both empty where there is none.
FoundTokenizer findTokenizer(const CaptureReader& capture,
                             const std::vector<std::filesystem::path>& folders);

/// The tokenizer that `capture` was made with: of those in `folders`, and in the folder that its
/// command line names, the one whose hash is the capture's. Null where there is none.
std::shared_ptr<const Tokenizer> tokenizerOf(const CaptureReader& capture,
                                             const std::vector<std::filesystem::path>& folders);

}  // namespace lime::explorer
