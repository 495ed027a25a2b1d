// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <stop_token>
#include <vector>

#include "core/options.h"
#include "core/random.h"
#include "train/tasks/arithmetic_expression.h"
#include "train/tasks/sequence_task.h"

namespace lime {

/// The Arithmetic Expression Task of Gerasimov et al. (2025), arXiv:2502.09245: solve an expression
/// step by step.
struct ArithmeticTaskOptions {
  static constexpr int kMinOperands = 2;
  static constexpr int kMaxOperands = 10;

  /// Numbers of operands, each in [2, 10]; the paper: 3 to 10, with one model for each.
  std::vector<int> operands = {3, 4};
  /// Every operand and every intermediate result is in [min_value, max_value].
  int min_value = 0;
  int max_value = 110;
  /// A prime: arithmetic modulo it, over the numbers below it, as in Feng et al. (2023),
  /// arXiv:2305.15408 (11); min_value and max_value do not apply. 0: arithmetic of integers.
  int modulus = 0;

  IntegerRange range() const {
    return modulus > 0 ? IntegerRange::modulo(modulus) : IntegerRange{min_value, max_value};
  }
  void describe(OptionList& list);
  void validate() const;
};

/// Returns the split of an expression, which is independent of the seed and the number of samples:
/// a hash of its text assigns about one in ten to the test split.
TaskSplit split_of(const ArithmeticExpression& expression);

/// Generates expressions of the task.
///
/// Works backwards from the result, which is uniform over the range. A uniformly selected operand
/// is replaced by an operation with that result until there are `num_operands`. The operation is
/// uniform over those with a non-trivial pair of operands (none is 1 for x and /), the pair uniform
/// over all. Expressions whose shortest text would leave the range are rejected. Sample i depends
/// only on seed, num_operands, split and i. Thread-safe.
class ArithmeticGenerator {
 public:
  ArithmeticGenerator(const ArithmeticTaskOptions& options, std::uint64_t seed);

  ArithmeticExpression draw(int num_operands, TaskSplit split, std::int64_t index) const;

  /// Returns `count` distinct expressions, the first ones of draw() that are not in `excluded`.
  /// @param on_progress  number of samples drawn.
  /// @throws InvalidArgument  if the range has too few of them; gives the largest possible number.
  /// @throws Interrupted      if `stop` was requested.
  std::vector<ArithmeticExpression> draw_distinct(
      int num_operands, TaskSplit split, std::int64_t count,
      std::span<const ArithmeticExpression> excluded = {}, const ProgressFn& on_progress = {},
      std::stop_token stop = {}) const;

 private:
  struct Split {
    int left;
    int right;
  };

  std::int64_t most_expressions(int num_operands, TaskSplit split, std::int64_t requested) const;
  ArithmeticExpression expand(int num_operands, int value, Random& random) const;
  std::vector<Split> splits_of(ArithmeticOperation operation, int value) const;
  void fill_modular_splits();
  void fill_operations();

  IntegerRange range_;
  std::uint64_t seed_;
  /// Per operation and value: all pairs of operands with that result.
  std::vector<std::vector<std::vector<Split>>> splits_;
  /// Per value: the operations that have a non-trivial pair.
  std::vector<std::vector<ArithmeticOperation>> operations_;
};

/// Reads expressions, one per line, alone or followed by their solution(), as written by
/// `lime-train generate`. Empty lines are skipped, and `*` is read as `x`.
///
/// @param range  of every operand and intermediate result.
/// @throws IoError      if the file cannot be read.
/// @throws FormatError  if it contains none, or names the line that is not an expression of 2 to 10
///         operands in its shortest form, leaves the range, divides with a remainder or has a wrong
///         solution.
std::vector<ArithmeticExpression> read_expressions(const std::filesystem::path& path,
                                                   const IntegerRange& range);

}  // namespace lime
