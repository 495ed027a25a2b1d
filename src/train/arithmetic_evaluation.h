// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "core/json.h"
#include "core/progress.h"
#include "model/decoder.h"
#include "train/arithmetic_expression.h"
#include "train/arithmetic_vocabulary.h"

namespace lime {

/// How well a model solves expressions of one number of operands.
struct ArithmeticAccuracy {
  int operands = 0;
  std::int64_t count = 0;
  std::int64_t correct = 0;     ///< the answer at the end is the value
  std::int64_t unfinished = 0;  ///< no `= integer </s>` at the end within the limit
  std::int64_t exact = 0;       ///< every step is as in solution()

  /// Share of `correct`, in [0, 1].
  double accuracy() const { return static_cast<double>(correct) / static_cast<double>(count); }
};

/// Lets the model write the solution of each expression, greedily, and reads the answer from its
/// end. A solution may take up to twice the tokens of the longest reference.
///
/// @return one entry per number of operands that occurs, ascending.
/// @throws Interrupted  if `stop` was requested.
std::vector<ArithmeticAccuracy> arithmetic_accuracy(
    const Decoder& decoder, const ArithmeticVocabulary& vocabulary,
    std::span<const ArithmeticExpression> expressions, const ProgressFn& on_progress = {},
    std::stop_token stop = {});

/// One object per entry, as the log and --format json show them.
Json accuracy_to_json(std::span<const ArithmeticAccuracy> accuracies);

}  // namespace lime
