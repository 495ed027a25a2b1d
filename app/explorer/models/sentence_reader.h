// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QVariant>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

namespace lime {
class CaptureReader;
class Tokenizer;
}  // namespace lime

namespace lime::explorer {

/// Returns the folder behind --checkpoint in a command line; empty if there is none.
std::filesystem::path checkpointOf(const std::string& command);

/// A token in its sentence. Without a tokenizer `token` is empty and the sentence is in `before`.
struct TokenInSentence {
  QString before;
  QString token;
  QString after;

  QString text() const { return before + token + after; }
};

/// Role of item models whose cells show a TokenInSentence, for SentenceDelegate.
enum SentenceRole { kSentenceRole = Qt::UserRole, kFirstFurtherRole };

/// Finds the tokens of a capture in its texts. May be used from any thread.
class SentenceReader {
 public:
  /// @param tokenizer  the one that the capture was made with; may be null.
  SentenceReader(std::shared_ptr<const CaptureReader> capture,
                 std::shared_ptr<const Tokenizer> tokenizer);

  const CaptureReader& capture() const { return *capture_; }
  const std::shared_ptr<const CaptureReader>& sharedCapture() const { return capture_; }

  /// Returns the text of a token; "#17" without a tokenizer.
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

/// Finds the tokenizer of `capture` in `folders`, or in the folder that its command line names: the
/// one whose hash is the capture's. Both parts are empty where there is none.
FoundTokenizer findTokenizer(const CaptureReader& capture,
                             const std::vector<std::filesystem::path>& folders);

}  // namespace lime::explorer
