// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "core/json.h"
#include "core/program/progress.h"
#include "model/decoders/decoder.h"
#include "train/tasks/arithmetic_expression.h"
#include "train/tasks/arithmetic_vocabulary.h"

namespace lime {

/// Accuracy on expressions with a given number of operands.
struct ArithmeticAccuracy {
  int operands = 0;
  std::int64_t count = 0;
  std::int64_t correct = 0;     ///< the final answer is the value
  std::int64_t unfinished = 0;  ///< no `= integer </s>` at the end within the limit
  std::int64_t exact = 0;       ///< every step matches solution()

  /// Returns the fraction of `correct`, in [0, 1].
  double accuracy() const { return static_cast<double>(correct) / static_cast<double>(count); }
};

/// Generates the solution of each expression greedily and parses the answer at its end. A solution
/// may have up to twice the tokens of the longest reference.
///
/// @return one entry per number of operands present, ascending.
/// @throws Interrupted  if `stop` was requested.
std::vector<ArithmeticAccuracy> arithmetic_accuracy(
    const Decoder& decoder, const ArithmeticVocabulary& vocabulary,
    std::span<const ArithmeticExpression> expressions, const ProgressFn& on_progress = {},
    std::stop_token stop = {});

/// Returns one object per entry, as in the log and --format json.
Json accuracy_to_json(std::span<const ArithmeticAccuracy> accuracies);

}  // namespace lime
