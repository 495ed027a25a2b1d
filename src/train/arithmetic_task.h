// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "core/options.h"
#include "core/random.h"
#include "train/arithmetic_expression.h"
#include "train/task_files.h"

namespace lime {

/// The Arithmetic Expression Task of Gerasimov et al. (2025), arXiv:2502.09245: read an expression,
/// write its solution step by step.
struct ArithmeticTaskOptions {
  static constexpr int kMinOperands = 2;
  static constexpr int kMaxOperands = 10;

  /// Numbers of operands that occur, each in [2, 10]; the paper: 3 to 10, a model for each of them.
  std::vector<int> operands = {3, 4};
  /// Every operand and every intermediate result lies in [min_value, max_value].
  int min_value = 0;
  int max_value = 110;

  IntegerRange range() const { return {min_value, max_value}; }
  void describe(OptionList& list);
  /// @throws InvalidArgument  that names the first field out of range.
  void validate() const;
};

/// Every expression belongs to one split for good, whatever the seed and the number of samples: a
/// hash of its text decides, about one in ten is kept for tests.
TaskSplit split_of(const ArithmeticExpression& expression);

/// Draws expressions of the task.
///
/// From the result backwards: the result is uniform over the range; then an operand, chosen
/// uniformly, is replaced by an operation with that result, until there are `num_operands`. The
/// operation is uniform over those with a non-trivial pair of operands (none is 1 for x and /), the
/// pair uniform over all. Expressions whose shortest text would leave the range are drawn again.
/// Sample i depends on seed, num_operands, split and i only. Thread-safe.
class ArithmeticGenerator {
 public:
  ArithmeticGenerator(const ArithmeticTaskOptions& options, std::uint64_t seed);

  ArithmeticExpression draw(int num_operands, TaskSplit split, std::int64_t index) const;

  /// `count` different expressions, the first ones of draw() that are not among `excluded`.
  /// @throws InvalidArgument  if the range has too few of them; says how many it has at most.
  /// @throws Interrupted      if `stop` was requested.
  std::vector<ArithmeticExpression> draw_distinct(
      int num_operands, TaskSplit split, std::int64_t count,
      std::span<const ArithmeticExpression> excluded = {}, std::stop_token stop = {}) const;

 private:
  struct Split {
    int left;
    int right;
  };

  std::int64_t most_expressions(int num_operands, TaskSplit split, std::int64_t wanted) const;
  ArithmeticExpression expand(int num_operands, int value, Random& random) const;
  std::vector<Split> splits_of(ArithmeticOperation operation, int value) const;

  ArithmeticTaskOptions options_;
  std::uint64_t seed_;
  /// Per operation and value: all pairs of operands that give the value.
  std::vector<std::vector<std::vector<Split>>> splits_;
  /// Per value: the operations that have a non-trivial pair.
  std::vector<std::vector<ArithmeticOperation>> operations_;
};

}  // namespace lime
