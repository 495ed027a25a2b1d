// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <cstdint>
#include <memory>

#include "explorer/models/token_in_sentence.h"

namespace lime {
class CaptureReader;
class Tokenizer;
}  // namespace lime

namespace lime::explorer {

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

}  // namespace lime::explorer
