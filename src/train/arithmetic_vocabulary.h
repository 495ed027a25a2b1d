// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "train/arithmetic_expression.h"

namespace lime {

/// Token ids of the task: `<pad>`, `<s>`, `</s>`, `=`, `(`, `)`, the operations, then one token for
/// each integer of the range.
class ArithmeticVocabulary {
 public:
  static constexpr std::int32_t kPad = 0;
  static constexpr std::int32_t kBos = 1;
  static constexpr std::int32_t kEos = 2;

  explicit ArithmeticVocabulary(const IntegerRange& range);

  std::int32_t size() const { return static_cast<std::int32_t>(tokens_.size()); }

  /// Ids of the words of `text`, without `<s>` and `</s>`.
  /// @throws InvalidArgument  that names the first word that is not in the vocabulary.
  std::vector<std::int32_t> encode(std::string_view text) const;
  /// The words of `ids` between single spaces. @throws InvalidArgument  for an unknown id.
  std::string decode(std::span<const std::int32_t> ids) const;

  std::int32_t id_of(std::string_view token) const;
  std::int32_t id_of_integer(int value) const;

  /// `<s> expression =`: what a model is asked.
  std::vector<std::int32_t> prompt(const ArithmeticExpression& expression) const;
  /// `<s> expression = step = ... = result </s>`: what it is trained on.
  std::vector<std::int32_t> sequence(const ArithmeticExpression& expression) const;

  /// Reads the answer from the end of what a model wrote: the integer between the last `=` and
  /// `</s>`, or nothing where the text does not end so.
  /// @param written  ids after the prompt, `</s>` included.
  std::optional<int> answer(std::span<const std::int32_t> written) const;

  /// What Hugging Face's tokenizers and load_tokenizer() read: a WordLevel model over words between
  /// spaces, which puts `<s>` in front of a text.
  Json tokenizer_json() const;
  Json tokenizer_config_json() const;

 private:
  IntegerRange range_;
  std::int32_t first_integer_ = 0;
  std::vector<std::string> tokens_;
};

}  // namespace lime
