// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "train/arithmetic_expression.h"
#include "train/word_vocabulary.h"

namespace lime {

/// The words of the Arithmetic Expression Task: `=`, `(`, `)`, the operations, then each integer of
/// the range.
class ArithmeticVocabulary : public WordVocabulary {
 public:
  explicit ArithmeticVocabulary(const IntegerRange& range);

  /// `<s> expression =`: what a model is asked.
  std::vector<std::int32_t> prompt(const ArithmeticExpression& expression) const;
  /// `<s> expression = step = ... = result </s>`: what it is trained on.
  std::vector<std::int32_t> sequence(const ArithmeticExpression& expression) const;

  /// Reads the answer from the end of what a model wrote: the integer between the last `=` and
  /// `</s>`, or nothing where the text does not end so.
  /// @param written  ids after the prompt, `</s>` included.
  std::optional<int> answer(std::span<const std::int32_t> written) const;

 private:
  IntegerRange range_;
  std::int32_t equals_ = 0;
  std::int32_t first_integer_ = 0;
};

}  // namespace lime
