// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "train/tasks/arithmetic_expression.h"
#include "train/tasks/word_vocabulary.h"

namespace lime {

/// Vocabulary of the Arithmetic Expression Task: `=`, `(`, `)`, the operations, then each integer
/// of the range.
class ArithmeticVocabulary : public WordVocabulary {
 public:
  explicit ArithmeticVocabulary(const IntegerRange& range);

  /// Returns `<s> expression =`, the prompt.
  std::vector<std::int32_t> prompt(const ArithmeticExpression& expression) const;
  /// Returns `<s> expression = step = ... = result </s>`, the training sequence.
  std::vector<std::int32_t> sequence(const ArithmeticExpression& expression) const;

  /// Parses the answer at the end of a generated text: the integer between the last `=` and `</s>`,
  /// or nothing if the text does not end that way.
  /// @param written  ids after the prompt, `</s>` included.
  std::optional<int> answer(std::span<const std::int32_t> written) const;

 private:
  IntegerRange range_;
  std::int32_t equals_ = 0;
  std::int32_t first_integer_ = 0;
};

}  // namespace lime
