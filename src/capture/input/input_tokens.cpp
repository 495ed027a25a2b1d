// SPDX-License-Identifier: Apache-2.0
#include "capture/input/input_tokens.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "capture/input/input_npy.h"
#include "core/errors.h"

namespace lime {
namespace {

std::vector<std::int32_t> checked_ids(const NpyIntegers& numbers, std::int64_t vocab_size,
                                      const std::string& file) {
  std::vector<std::int32_t> ids(numbers.values.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::int64_t value = numbers.values[i];
    if (value >= 0 && value < vocab_size) {
      ids[i] = static_cast<std::int32_t>(value);
      continue;
    }
    const auto place = static_cast<std::int64_t>(i);
    const std::int64_t columns = numbers.shape.back();
    const std::string where = numbers.shape.size() == 1
                                  ? fmt::format("[{}]", place)
                                  : fmt::format("[{}, {}]", place / columns, place % columns);
    throw InvalidArgument("'{}': token ids must be in [0, {}), got {} at {}", file, vocab_size,
                          value, where);
  }
  return ids;
}

std::vector<std::int32_t> prepended_ids(const InputContext& context, BosPolicy bos) {
  if (bos != BosPolicy::kAlways) return {};
  if (context.tokenizer != nullptr && context.tokenizer->bos_id()) {
    return {*context.tokenizer->bos_id()};
  }
  if (context.bos_token_id) return {*context.bos_token_id};
  throw InvalidArgument(
      "bos: neither the tokenizer nor config.json defines a beginning-of-sequence token; use auto "
      "or never");
}

/// Returns the text of a sequence, or none if the tokenizer does not match the ids.
std::string text_of(std::span<const std::int32_t> ids, const Tokenizer* tokenizer) {
  if (tokenizer == nullptr) return "";
  const std::int32_t size = tokenizer->vocab_size();
  if (std::any_of(ids.begin(), ids.end(), [&](std::int32_t id) { return id >= size; })) return "";
  try {
    return tokenizer->decode(ids);
  } catch (const InvalidArgument&) {
    return "";  // an unused id in the vocabulary
  }
}

}  // namespace

CaptureInput read_token_input(const std::filesystem::path& file, const InputContext& context,
                              const InputShape& shape) {
  const std::string name = file.string();
  const NpyIntegers numbers = read_npy_integers(file);
  if (numbers.values.empty()) throw FormatError("'{}': contains no token ids", name);
  std::vector<std::int32_t> ids = checked_ids(numbers, context.vocab_size, name);

  CaptureInput input;
  input.prepended_ids = prepended_ids(context, shape.bos);
  const bool is_flat = numbers.shape.size() == 1;
  if (is_flat) ids.insert(ids.begin(), input.prepended_ids.begin(), input.prepended_ids.end());
  const auto total = static_cast<std::int64_t>(ids.size());
  const std::int64_t length = is_flat ? std::min(shape.seq_len, total) : numbers.shape[1];
  const std::int64_t count = std::min(total / length, shape.max_sequences.value_or(total / length));
  std::vector<std::int32_t> sequence;
  for (std::int64_t s = 0; s < count; ++s) {
    const auto part = std::span(ids).subspan(static_cast<std::size_t>(s * length),
                                             static_cast<std::size_t>(length));
    sequence.clear();
    if (!is_flat) sequence = input.prepended_ids;
    const bool starts_with_prepended = !is_flat || s == 0;
    sequence.insert(sequence.end(), part.begin(), part.end());
    Sequence about;
    about.text = text_of(part, context.tokenizer);
    input.add(sequence, starts_with_prepended ? input.prepended_ids.size() : 0, std::move(about));
  }
  input.dropped_tokens = total % length;
  return input;
}

}  // namespace lime
