// SPDX-License-Identifier: Apache-2.0
#include "capture/input_text.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "core/errors.h"
#include "core/mapped_file.h"
#include "core/utf8.h"

namespace lime {
namespace {

/// Concatenated documents, before splitting.
struct TokenStream {
  std::vector<std::int32_t> ids;
  std::vector<std::uint8_t> is_prepended;
  std::vector<std::int64_t> document_starts;
};

/// Returns the ids of a file, at most the first `max_ids`.
std::vector<std::int32_t> encode_file(const std::filesystem::path& file, const Tokenizer& tokenizer,
                                      std::int64_t max_ids) {
  const MappedFile mapped(file);
  const std::string_view text = mapped.text();
  require_utf8(file, text);
  std::vector<std::int32_t> ids =
      tokenizer.encode(text, {.max_ids = static_cast<std::size_t>(max_ids)});
  if (ids.empty()) throw FormatError("'{}': text must not be empty", file.string());
  return ids;
}

void append_document(TokenStream& stream, std::span<const std::int32_t> document,
                     std::span<const std::int32_t> prepended) {
  stream.document_starts.push_back(static_cast<std::int64_t>(stream.ids.size()));
  stream.ids.insert(stream.ids.end(), prepended.begin(), prepended.end());
  stream.is_prepended.resize(stream.ids.size(), 1);
  stream.ids.insert(stream.ids.end(), document.begin(), document.end());
  stream.is_prepended.resize(stream.ids.size(), 0);
}

}  // namespace

CaptureInput read_text_input(const std::vector<std::filesystem::path>& files,
                             const Tokenizer& tokenizer, const InputShape& shape) {
  const std::vector<std::int32_t> prepended = prepended_tokens(tokenizer, shape.bos);
  const std::int64_t most = INT64_MAX / shape.seq_len;
  const std::int64_t enough = std::min(shape.max_sequences.value_or(most), most);
  TokenStream stream;
  for (const std::filesystem::path& file : files) {
    const auto missing = enough * shape.seq_len - static_cast<std::int64_t>(stream.ids.size());
    if (missing <= 0) break;
    const std::vector<std::int32_t> document = encode_file(file, tokenizer, missing);
    refuse_double_bos(document, prepended, shape.bos, "'" + file.string() + "'");
    if (!stream.ids.empty() && tokenizer.eos_id()) {
      stream.ids.push_back(*tokenizer.eos_id());
      stream.is_prepended.push_back(0);
    }
    append_document(stream, document, prepended);
  }

  CaptureInput input;
  input.prepended_ids = prepended;
  const auto total = static_cast<std::int64_t>(stream.ids.size());
  const std::int64_t length = std::min(shape.seq_len, total);
  const std::int64_t count = std::min(total / length, enough);
  for (std::int64_t s = 0; s < count; ++s) {
    const std::int64_t start = s * length;
    const auto ids =
        std::span(stream.ids)
            .subspan(static_cast<std::size_t>(start), static_cast<std::size_t>(length));
    const bool at_start =
        std::binary_search(stream.document_starts.begin(), stream.document_starts.end(), start);
    Sequence about;
    about.text = tokenizer.decode(ids, {.at_text_start = at_start});
    input.add(ids, 0, std::move(about));
  }
  input.is_prepended.assign(stream.is_prepended.begin(),
                            stream.is_prepended.begin() + count * length);
  input.dropped_tokens = count < enough ? total % length : 0;
  return input;
}

}  // namespace lime
