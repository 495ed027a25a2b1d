// SPDX-License-Identifier: Apache-2.0
#include "train/tasks/arithmetic_vocabulary.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace lime {
namespace {

std::vector<std::string> words_of(const IntegerRange& range) {
  std::vector<std::string> words = {"=", "(", ")"};
  for (const std::string_view token : kArithmeticOperationTokens) words.emplace_back(token);
  for (int value = range.min; value <= range.max; ++value) words.push_back(std::to_string(value));
  return words;
}

}  // namespace

ArithmeticVocabulary::ArithmeticVocabulary(const IntegerRange& range)
    : WordVocabulary(
          "arithmetic vocabulary",
          fmt::format("integers from {} to {}, operations or brackets", range.min, range.max),
          words_of(range)),
      range_(range),
      equals_(id_of("=")),
      first_integer_(id_of(std::to_string(range.min))) {}

std::vector<std::int32_t> ArithmeticVocabulary::prompt(
    const ArithmeticExpression& expression) const {
  std::vector<std::int32_t> ids = encode(expression.text());
  ids.insert(ids.begin(), kBos);
  ids.push_back(equals_);
  return ids;
}

std::vector<std::int32_t> ArithmeticVocabulary::sequence(
    const ArithmeticExpression& expression) const {
  std::vector<std::int32_t> ids = encode(expression.solution(range_.modulus));
  ids.insert(ids.begin(), kBos);
  ids.push_back(kEos);
  return ids;
}

std::optional<int> ArithmeticVocabulary::answer(std::span<const std::int32_t> written) const {
  const auto end = std::ranges::find(written, kEos);
  const auto length = end - written.begin();
  if (end == written.end() || length == 0) return std::nullopt;
  const std::int32_t last = *(end - 1);
  // The prompt ends with `=`, so a single token is also an answer.
  const bool after_equals = length == 1 || *(end - 2) == equals_;
  if (!after_equals || last < first_integer_ || last >= size()) return std::nullopt;
  return range_.min + (last - first_integer_);
}

}  // namespace lime
