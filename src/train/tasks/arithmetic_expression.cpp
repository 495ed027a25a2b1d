// SPDX-License-Identifier: Apache-2.0
#include "train/tasks/arithmetic_expression.h"

#include <charconv>
#include <iterator>
#include <limits>

#include "core/errors.h"

namespace lime {

namespace {

constexpr int kSumRank = 1;
constexpr int kProductRank = 2;
constexpr int kNumberRank = 3;

int rank_of(ArithmeticOperation operation) {
  return operation == ArithmeticOperation::kAdd || operation == ArithmeticOperation::kSubtract
             ? kSumRank
             : kProductRank;
}

std::string_view token_of(ArithmeticOperation operation) {
  return kArithmeticOperationTokens[static_cast<std::size_t>(operation)];
}

/// Returns the inverse of `value` modulo a prime: its power of prime - 2 (Fermat).
std::int64_t inverse_modulo(std::int64_t value, int prime) {
  std::int64_t inverse = 1;
  std::int64_t square = value % prime;
  for (int power = prime - 2; power > 0; power /= 2) {
    if (power % 2 == 1) inverse = inverse * square % prime;
    square = square * square % prime;
  }
  return inverse % prime;
}

/// Applies an operation to numbers of [0, prime).
std::optional<std::int64_t> apply_modulo(ArithmeticOperation operation, std::int64_t a,
                                         std::int64_t b, int prime) {
  switch (operation) {
    case ArithmeticOperation::kAdd: return (a + b) % prime;
    case ArithmeticOperation::kSubtract: return (a - b + prime) % prime;
    case ArithmeticOperation::kMultiply: return a * b % prime;
    case ArithmeticOperation::kDivide:
      if (b == 0) return std::nullopt;
      return a * inverse_modulo(b, prime) % prime;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> apply_operation(ArithmeticOperation operation, std::int64_t a,
                                            std::int64_t b, int modulus) {
  if (modulus > 0) return apply_modulo(operation, a, b, modulus);
  switch (operation) {
    case ArithmeticOperation::kAdd: return a + b;
    case ArithmeticOperation::kSubtract: return a - b;
    case ArithmeticOperation::kMultiply: return a * b;
    case ArithmeticOperation::kDivide:
      if (b == 0 || a % b != 0) return std::nullopt;
      return a / b;
  }
  return std::nullopt;
}

namespace {

/// Applies an operation of a user's expression.
std::int64_t apply_exactly(ArithmeticOperation operation, std::int64_t a, std::int64_t b,
                           int modulus) {
  const std::optional<std::int64_t> result = apply_operation(operation, a, b, modulus);
  throw_if<NumericalError>(!result, "arithmetic expression: divisions must be exact, got {} / {}",
                           a, b);
  throw_if<NumericalError>(
      *result < std::numeric_limits<int>::min() || *result > std::numeric_limits<int>::max(),
      "arithmetic expression: results must fit in 32 bits, got {} {} {}", a, token_of(operation),
      b);
  return *result;
}

/// Recursive descent parser for:
///   sum = product { (+|-) product },  product = operand { (x|/) operand },
///   operand = integer | "(" sum ")"
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) { advance(); }

  ArithmeticExpression parse() {
    ArithmeticExpression sum = parse_ranked(kSumRank);
    if (!word_.empty()) refuse("an operation or the end");
    return sum;
  }

 private:
  static constexpr int kMaxDepth = 1000;

  ArithmeticExpression parse_ranked(int rank) {
    if (rank == kNumberRank) return parse_operand();
    ArithmeticExpression left = parse_ranked(rank + 1);
    while (const auto operation = operation_of_rank(rank)) {
      advance();
      left = ArithmeticExpression(*operation, left, parse_ranked(rank + 1));
    }
    return left;
  }

  ArithmeticExpression parse_operand() {
    if (word_ == "(") {
      if (++depth_ > kMaxDepth) refuse("fewer nested brackets");
      advance();
      ArithmeticExpression inner = parse_ranked(kSumRank);
      if (word_ != ")") refuse("')' or an operation");
      advance();
      --depth_;
      return inner;
    }
    int value = 0;
    const char* const end = word_.data() + word_.size();
    const auto result = std::from_chars(word_.data(), end, value);
    if (word_.empty() || result.ec != std::errc() || result.ptr != end) refuse("an integer or '('");
    advance();
    return ArithmeticExpression(value);
  }

  std::optional<ArithmeticOperation> operation_of_rank(int rank) const {
    const std::string_view word = usual_operation(word_);
    for (std::size_t i = 0; i < std::size(kArithmeticOperationTokens); ++i) {
      const auto operation = static_cast<ArithmeticOperation>(i);
      if (word == kArithmeticOperationTokens[i] && rank_of(operation) == rank) return operation;
    }
    return std::nullopt;
  }

  void advance() {
    const std::size_t begin = text_.find_first_not_of(' ', position_);
    if (begin == std::string_view::npos) {
      word_ = {};
      return;
    }
    const std::size_t end = std::min(text_.find(' ', begin), text_.size());
    word_ = text_.substr(begin, end - begin);
    position_ = end;
    ++place_;
  }

  [[noreturn]] void refuse(std::string_view expected) const {
    throw_if<FormatError>(word_.empty(), "arithmetic expression: expected {}, got the end of '{}'",
                          expected, text_);
    throw FormatError("arithmetic expression: word {} must be {}, got '{}'", place_, expected,
                      word_);
  }

  std::string_view text_;
  std::string_view word_;  // empty at the end
  std::size_t position_ = 0;
  int place_ = 0;
  int depth_ = 0;
};

}  // namespace

std::string_view usual_operation(std::string_view word) {
  constexpr std::string_view kTimes =
      kArithmeticOperationTokens[static_cast<std::size_t>(ArithmeticOperation::kMultiply)];
  return word == "*" ? kTimes : word;
}

ArithmeticExpression::ArithmeticExpression(ArithmeticOperation operation,
                                           const ArithmeticExpression& left,
                                           const ArithmeticExpression& right)
    : operation_(operation),
      left_(std::make_shared<ArithmeticExpression>(left)),
      right_(std::make_shared<ArithmeticExpression>(right)) {}

ArithmeticExpression ArithmeticExpression::parse(std::string_view text) {
  return Parser(text).parse();
}

int ArithmeticExpression::rank() const { return is_number() ? kNumberRank : rank_of(operation_); }

void ArithmeticExpression::append_text(std::string& text) const {
  if (is_number()) {
    text += std::to_string(value_);
    return;
  }
  const auto append = [&](const ArithmeticExpression& operand, bool brackets) {
    if (brackets) text += "( ";
    operand.append_text(text);
    if (brackets) text += " )";
  };
  const bool is_inverse =
      operation_ == ArithmeticOperation::kSubtract || operation_ == ArithmeticOperation::kDivide;
  append(*left_, left_->rank() < rank());
  text += ' ';
  text += token_of(operation_);
  text += ' ';
  append(*right_, right_->rank() < rank() || (is_inverse && right_->rank() == rank()));
}

std::string ArithmeticExpression::text() const {
  std::string text;
  append_text(text);
  return text;
}

int ArithmeticExpression::num_operands() const {
  return is_number() ? 1 : left_->num_operands() + right_->num_operands();
}

std::int64_t ArithmeticExpression::value(int modulus) const {
  if (is_number()) return value_;
  return apply_exactly(operation_, left_->value(modulus), right_->value(modulus), modulus);
}

/// Returns the value, or nothing if a part of it leaves the range or a division is not exact.
std::optional<std::int64_t> ArithmeticExpression::value_within(const IntegerRange& range) const {
  std::optional<std::int64_t> value = value_;
  if (!is_number()) {
    const auto left = left_->value_within(range);
    const auto right = left ? right_->value_within(range) : std::nullopt;
    value = right ? apply_operation(operation_, *left, *right, range.modulus) : std::nullopt;
  }
  return value && range.contains(*value) ? value : std::nullopt;
}

bool ArithmeticExpression::is_exact_within(const IntegerRange& range) const {
  return value_within(range).has_value();
}

ArithmeticExpression ArithmeticExpression::simplified(int modulus) const {
  throw_if(is_number(), "arithmetic expression: only operations can be simplified, got {}", value_);
  if (!left_->is_number()) return {operation_, left_->simplified(modulus), *right_};
  if (!right_->is_number()) return {operation_, *left_, right_->simplified(modulus)};
  return ArithmeticExpression(
      static_cast<int>(apply_exactly(operation_, left_->value_, right_->value_, modulus)));
}

std::vector<ArithmeticExpression> ArithmeticExpression::steps(int modulus) const {
  std::vector<ArithmeticExpression> all = {*this};
  while (!all.back().is_number()) all.push_back(all.back().simplified(modulus));
  return all;
}

std::string ArithmeticExpression::solution(int modulus) const {
  std::string text;
  for (const ArithmeticExpression& step : steps(modulus)) {
    if (!text.empty()) text += " = ";
    step.append_text(text);
  }
  return text;
}

}  // namespace lime
