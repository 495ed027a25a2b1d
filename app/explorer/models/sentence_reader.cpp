// SPDX-License-Identifier: Apache-2.0
#include "explorer/models/sentence_reader.h"

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/tokenizer.h"
#include "core/errors.h"
#include "explorer/models/text.h"
#include "store/capture_reader.h"

namespace lime::explorer {
namespace {

QString fromUtf8(const std::string& text) { return toQString(text).replace(u'\n', u' '); }

/// Returns the number of prepended tokens before the ids of `text` in the sequence; -1 if none
/// fits.
std::int64_t shiftOf(const std::vector<std::int32_t>& ids, std::int32_t position,
                     std::int32_t token) {
  for (const std::int64_t shift : {0, 1}) {
    const auto at = static_cast<std::size_t>(position - shift);  // out of range where negative
    if (at < ids.size() && ids[at] == token) return shift;
  }
  return -1;
}

}  // namespace

SentenceReader::SentenceReader(std::shared_ptr<const CaptureReader> capture,
                               std::shared_ptr<const Tokenizer> tokenizer)
    : capture_(std::move(capture)), tokenizer_(std::move(tokenizer)) {}

QString SentenceReader::tokenText(std::int32_t token) const {
  if (tokenizer_) {
    try {
      return toQString(tokenizer_->token_text(token));
    } catch (const Error&) {
      // An unknown id is shown as a number.
    }
  }
  return u"#%1"_s.arg(token);
}

TokenInSentence SentenceReader::at(std::int32_t sequence, std::int32_t position,
                                   std::int32_t token) const {
  const std::string& text = capture_->sequences()[static_cast<std::size_t>(sequence)].text;
  if (!tokenizer_ || text.empty()) return {fromUtf8(text), {}, {}};
  // In packed texts, tokens are those of the whole sequence.
  std::vector<std::int32_t> ids;
  try {
    ids = tokenizer_->encode(text, {.add_special_tokens = false});
  } catch (const Error&) {
    return {fromUtf8(text), {}, {}};
  }
  const std::int64_t shift = shiftOf(ids, position, token);
  if (shift < 0) {
    // A prepended token has no position in the text.
    return position == 0 ? TokenInSentence{{}, tokenText(token), fromUtf8(text)}
                         : TokenInSentence{fromUtf8(text), {}, {}};
  }
  const auto at = static_cast<std::size_t>(position - shift);
  const std::span all(ids);
  return {fromUtf8(tokenizer_->decode(all.first(at), {.skip_special_tokens = false})),
          fromUtf8(tokenizer_->decode(all.subspan(at, 1),
                                      {.skip_special_tokens = false, .at_text_start = at == 0})),
          fromUtf8(tokenizer_->decode(all.subspan(at + 1),
                                      {.skip_special_tokens = false, .at_text_start = false}))};
}

}  // namespace lime::explorer
