// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lime {

enum class ArithmeticOperation : std::uint8_t { kAdd, kSubtract, kMultiply, kDivide };

/// The tokens of the operations, in the order of the enumerators. `*` is read as `x`.
inline constexpr std::string_view kArithmeticOperationTokens[] = {"+", "-", "x", "/"};

/// The integers from `min` to `max`, inclusive, or those modulo a prime.
struct IntegerRange {
  int min = 0;
  int max = 0;
  /// A prime: results are taken modulo it, and a / b is the q with q b = a; 0: of integers.
  int modulus = 0;

  static IntegerRange modulo(int prime) { return {0, prime - 1, prime}; }

  bool contains(std::int64_t value) const { return value >= min && value <= max; }
};

/// Returns `x` for `*`, other words as they are.
std::string_view usual_operation(std::string_view word);

/// Returns the result of one operation, or nothing if a division is by zero or not exact.
/// @param modulus  of IntegerRange; a and b are then in [0, modulus)
std::optional<std::int64_t> apply_operation(ArithmeticOperation operation, std::int64_t a,
                                            std::int64_t b, int modulus = 0);

/// An expression of +, -, x, / over integers, e.g. `( 7 + 5 ) / ( 6 + 4 x 3 - 2 x 7 )`.
///
/// x and / have higher precedence than + and -; operations of equal precedence are evaluated from
/// left to right. In its text every token (integer, operation, bracket) is a word between single
/// spaces, so that `-3` is an integer and `- 3` subtracts. Immutable; copies share their parts;
/// thread-safe.
class ArithmeticExpression {
 public:
  explicit ArithmeticExpression(int value) : value_(value) {}
  ArithmeticExpression(ArithmeticOperation operation, const ArithmeticExpression& left,
                       const ArithmeticExpression& right);

  /// Parses text() or the same with redundant brackets.
  /// @throws FormatError  naming the first unexpected word and its position.
  static ArithmeticExpression parse(std::string_view text);

  /// Returns the shortest text of the same value: brackets only around a sum inside a product, and
  /// around the right operand of - and / if it has an operation of the same precedence. So a + (b -
  /// c) becomes `a + b - c`; parse(text()) then groups it from the left.
  std::string text() const;

  bool is_number() const { return left_ == nullptr; }
  int num_operands() const;

  /// @param modulus  of IntegerRange, as below
  /// @throws NumericalError  for a division by zero or with a remainder.
  std::int64_t value(int modulus = 0) const;

  /// Returns true if every operand and every intermediate result is in `range` and no division is
  /// by zero or leaves a remainder.
  bool is_exact_within(const IntegerRange& range) const;

  /// Evaluates the first operation: the leftmost one whose operands are both numbers.
  /// @throws InvalidArgument  if this is already a number.
  /// @throws NumericalError   as value(), or if the result does not fit in an int.
  ArithmeticExpression simplified(int modulus = 0) const;

  /// Returns this expression and the result of each step; the last one is a number. For the example
  /// of Gerasimov et al. (2025), arXiv:2502.09245:
  ///   `( 7 + 5 ) / ( 6 + 4 x 3 - 2 x 7 )`, `12 / ( 6 + 4 x 3 - 2 x 7 )`, ..., `12 / 4`, `3`
  std::vector<ArithmeticExpression> steps(int modulus = 0) const;

  std::string solution(int modulus = 0) const;

 private:
  int rank() const;
  void append_text(std::string& text) const;
  std::optional<std::int64_t> value_within(const IntegerRange& range) const;

  int value_ = 0;  // of a number
  ArithmeticOperation operation_ = ArithmeticOperation::kAdd;
  std::shared_ptr<const ArithmeticExpression> left_;  // null for a number
  std::shared_ptr<const ArithmeticExpression> right_;
};

}  // namespace lime
