// SPDX-License-Identifier: Apache-2.0
#include "capture/input/input_text.h"

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/files/input_file.h"
#include "core/utf8.h"

namespace lime {
namespace {

/// Documents that the LIMe code concatenates and cuts together (`batch_size` of
/// prepare_fineweb.py).
constexpr std::size_t kBatchOfLimeCode = 32;

struct TokenStream {
  std::vector<std::int32_t> ids;
  std::vector<std::uint8_t> is_prepended;
  std::vector<std::int64_t> document_starts;
};

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

void append_eos(TokenStream& stream, const Tokenizer& tokenizer) {
  if (!tokenizer.eos_id()) return;
  stream.ids.push_back(*tokenizer.eos_id());
  stream.is_prepended.push_back(0);
}

/// The number of sequences that `shape` asks for, without overflow of the tokens in them.
std::int64_t wanted_sequences(const InputShape& shape) {
  const std::int64_t most = INT64_MAX / shape.seq_len - 1;
  return std::min(shape.max_sequences.value_or(most), most);
}

/// Cuts the first `count` sequences of `length` tokens off the stream.
void add_sequences(CaptureInput& input, const TokenStream& stream, std::int64_t length,
                   std::int64_t count, const Tokenizer& tokenizer) {
  for (std::int64_t s = 0; s < count; ++s) {
    const std::int64_t start = s * length;
    const auto ids =
        std::span(stream.ids)
            .subspan(static_cast<std::size_t>(start), static_cast<std::size_t>(length));
    const bool at_start = std::ranges::binary_search(stream.document_starts, start);
    Sequence about;
    about.text = tokenizer.decode(ids, {.at_text_start = at_start});
    input.add(ids, 0, std::move(about));
  }
  std::copy_n(stream.is_prepended.begin(), count * length,
              input.is_prepended.end() - count * length);
}

CaptureInput pack_with_eos_between(const std::vector<std::filesystem::path>& files,
                                   const Tokenizer& tokenizer, const InputShape& shape) {
  CaptureInput input;
  input.prepended_ids = prepended_tokens(tokenizer, shape.bos);
  const std::int64_t enough = wanted_sequences(shape);
  TokenStream stream;
  for (const std::filesystem::path& file : files) {
    const auto missing = enough * shape.seq_len - std::ssize(stream.ids);
    if (missing <= 0) break;
    const std::vector<std::int32_t> document = encode_file(file, tokenizer, missing);
    refuse_double_bos(document, input.prepended_ids, shape.bos, "'" + file.string() + "'");
    if (!stream.ids.empty()) append_eos(stream, tokenizer);
    append_document(stream, document, input.prepended_ids);
  }
  const std::int64_t total = std::ssize(stream.ids);
  const std::int64_t length = std::min(shape.seq_len, total);
  const std::int64_t count = std::min(total / length, enough);
  add_sequences(input, stream, length, count, tokenizer);
  input.dropped_tokens = count < enough ? total % length : 0;
  return input;
}

CaptureInput pack_as_lime_code(const std::vector<std::filesystem::path>& files,
                               const Tokenizer& tokenizer, const InputShape& shape) {
  if (!tokenizer.bos_id() || !tokenizer.eos_id()) {
    throw InvalidArgument(
        "packing: lime-code needs a tokenizer with a beginning- and an end-of-sequence token, this "
        "one has no {}; use eos-between",
        tokenizer.bos_id() ? "end" : "beginning");
  }
  CaptureInput input;
  input.prepended_ids = {*tokenizer.bos_id()};
  const std::int64_t enough = wanted_sequences(shape);
  for (std::size_t first = 0; first < files.size(); first += kBatchOfLimeCode) {
    const std::int64_t wanted = enough - input.num_sequences();
    if (wanted <= 0) break;
    TokenStream stream;
    for (std::size_t i = first; i < std::min(first + kBatchOfLimeCode, files.size()); ++i) {
      const auto missing = wanted * shape.seq_len + 1 - std::ssize(stream.ids);
      if (missing <= 0) break;
      append_document(stream, encode_file(files[i], tokenizer, missing), input.prepended_ids);
      append_eos(stream, tokenizer);
    }
    // The token after a piece is the last one's label.
    const std::int64_t complete = (std::ssize(stream.ids) - 1) / shape.seq_len;
    const std::int64_t count = std::min(complete, wanted);
    add_sequences(input, stream, shape.seq_len, count, tokenizer);
    if (complete < wanted) input.dropped_tokens += std::ssize(stream.ids) - count * shape.seq_len;
  }
  if (input.num_sequences() > 0) return input;
  throw InvalidArgument(
      "packing: lime-code drops texts of fewer than {} tokens, got {}; use more text, a smaller "
      "--seq-len, or eos-between",
      shape.seq_len + 1, input.dropped_tokens);
}

}  // namespace

CaptureInput read_text_input(const std::vector<std::filesystem::path>& files,
                             const Tokenizer& tokenizer, const InputShape& shape) {
  return shape.packing == Packing::kLimeCode ? pack_as_lime_code(files, tokenizer, shape)
                                             : pack_with_eos_between(files, tokenizer, shape);
}

CaptureInput read_line_input(const std::vector<std::filesystem::path>& files,
                             const Tokenizer& tokenizer, const InputShape& shape,
                             std::int64_t max_tokens) {
  const std::int64_t enough =
      shape.max_sequences.value_or(std::numeric_limits<std::int64_t>::max());
  CaptureInput input;
  input.prepended_ids = prepended_tokens(tokenizer, shape.bos);
  const std::size_t num_prepended = input.prepended_ids.size();
  const auto add = [&](std::string_view line, const std::string& where) {
    const std::vector<std::int32_t> text_ids = tokenizer.encode(line);
    refuse_double_bos(text_ids, input.prepended_ids, shape.bos, where);
    std::vector<std::int32_t> ids = input.prepended_ids;
    ids.insert(ids.end(), text_ids.begin(), text_ids.end());
    throw_if(static_cast<std::int64_t>(ids.size()) > max_tokens,
             "{}: must have at most max_position_embeddings = {} tokens, has {}", where, max_tokens,
             ids.size());
    Sequence about;
    about.text = line;
    input.add(ids, num_prepended, std::move(about));
  };
  for (const std::filesystem::path& file : files) {
    const std::int64_t before = input.num_sequences();
    if (before >= enough) break;
    for_each_line(file, [&](std::string_view line, std::int64_t number) {
      add(line, fmt::format("'{}' line {}", file.string(), number));
      return input.num_sequences() < enough;
    });
    throw_if<FormatError>(input.num_sequences() == before,
                          "'{}': must have a line of text, has none", file.string());
  }
  return input;
}

}  // namespace lime
