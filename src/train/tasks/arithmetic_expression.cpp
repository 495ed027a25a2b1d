// SPDX-License-Identifier: Apache-2.0
#include "train/tasks/arithmetic_expression.h"

#include <charconv>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "core/errors.h"

namespace lime {

struct ArithmeticExpression::Node {
  int value = 0;  // of a number
  ArithmeticOperation operation = ArithmeticOperation::kAdd;
  std::shared_ptr<const Node> left;  // null for a number
  std::shared_ptr<const Node> right;

  bool is_number() const { return left == nullptr; }
};

namespace {

using Node = ArithmeticExpression::Node;
using NodePtr = std::shared_ptr<const Node>;

constexpr int kSumRank = 1;
constexpr int kProductRank = 2;
constexpr int kNumberRank = 3;

int rank_of(ArithmeticOperation operation) {
  return operation == ArithmeticOperation::kAdd || operation == ArithmeticOperation::kSubtract
             ? kSumRank
             : kProductRank;
}

int rank_of(const Node& node) { return node.is_number() ? kNumberRank : rank_of(node.operation); }

std::string_view token_of(ArithmeticOperation operation) {
  return kArithmeticOperationTokens[static_cast<std::size_t>(operation)];
}

NodePtr make_number(int value) {
  auto node = std::make_shared<Node>();
  node->value = value;
  return node;
}

NodePtr make_operation(ArithmeticOperation operation, NodePtr left, NodePtr right) {
  auto node = std::make_shared<Node>();
  node->operation = operation;
  node->left = std::move(left);
  node->right = std::move(right);
  return node;
}

/// Returns the result of one operation, or nothing if a division is not exact.
std::optional<std::int64_t> apply(ArithmeticOperation operation, std::int64_t a, std::int64_t b) {
  switch (operation) {
    case ArithmeticOperation::kAdd:
      return a + b;
    case ArithmeticOperation::kSubtract:
      return a - b;
    case ArithmeticOperation::kMultiply:
      return a * b;
    case ArithmeticOperation::kDivide:
      if (b == 0 || a % b != 0) return std::nullopt;
      return a / b;
  }
  return std::nullopt;
}

/// Applies an operation of a user's expression.
std::int64_t apply_exactly(ArithmeticOperation operation, std::int64_t a, std::int64_t b) {
  const std::optional<std::int64_t> result = apply(operation, a, b);
  throw_if<NumericalError>(!result, "arithmetic expression: divisions must be exact, got {} / {}",
                           a, b);
  throw_if<NumericalError>(
      *result < std::numeric_limits<int>::min() || *result > std::numeric_limits<int>::max(),
      "arithmetic expression: results must fit in 32 bits, got {} {} {}", a, token_of(operation),
      b);
  return *result;
}

std::int64_t evaluate(const Node& node) {
  if (node.is_number()) return node.value;
  return apply_exactly(node.operation, evaluate(*node.left), evaluate(*node.right));
}

/// Returns the value, or nothing if a part of it leaves the range or a division is not exact.
std::optional<std::int64_t> evaluate_within(const Node& node, const IntegerRange& range) {
  std::optional<std::int64_t> value = node.value;
  if (!node.is_number()) {
    const auto left = evaluate_within(*node.left, range);
    const auto right = left ? evaluate_within(*node.right, range) : std::nullopt;
    value = right ? apply(node.operation, *left, *right) : std::nullopt;
  }
  return value && range.contains(*value) ? value : std::nullopt;
}

void append_text(const Node& node, std::string& text);

void append_operand(const Node& node, bool brackets, std::string& text) {
  if (brackets) text += "( ";
  append_text(node, text);
  if (brackets) text += " )";
}

void append_text(const Node& node, std::string& text) {
  if (node.is_number()) {
    text += std::to_string(node.value);
    return;
  }
  const int rank = rank_of(node.operation);
  const bool is_inverse = node.operation == ArithmeticOperation::kSubtract ||
                          node.operation == ArithmeticOperation::kDivide;
  append_operand(*node.left, rank_of(*node.left) < rank, text);
  text += ' ';
  text += token_of(node.operation);
  text += ' ';
  const int right_rank = rank_of(*node.right);
  append_operand(*node.right, right_rank < rank || (is_inverse && right_rank == rank), text);
}

int count_operands(const Node& node) {
  return node.is_number() ? 1 : count_operands(*node.left) + count_operands(*node.right);
}

NodePtr simplify(const Node& node) {
  if (!node.left->is_number()) {
    return make_operation(node.operation, simplify(*node.left), node.right);
  }
  if (!node.right->is_number()) {
    return make_operation(node.operation, node.left, simplify(*node.right));
  }
  return make_number(
      static_cast<int>(apply_exactly(node.operation, node.left->value, node.right->value)));
}

/// Recursive descent parser for:
///   sum = product { (+|-) product },  product = operand { (x|/) operand },
///   operand = integer | "(" sum ")"
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) { advance(); }

  NodePtr parse() {
    NodePtr sum = parse_ranked(kSumRank);
    if (!word_.empty()) refuse("an operation or the end");
    return sum;
  }

 private:
  static constexpr int kMaxDepth = 1000;

  NodePtr parse_ranked(int rank) {
    if (rank == kNumberRank) return parse_operand();
    NodePtr left = parse_ranked(rank + 1);
    while (const auto operation = operation_of_rank(rank)) {
      advance();
      left = make_operation(*operation, std::move(left), parse_ranked(rank + 1));
    }
    return left;
  }

  NodePtr parse_operand() {
    if (word_ == "(") {
      if (++depth_ > kMaxDepth) refuse("fewer nested brackets");
      advance();
      NodePtr inner = parse_ranked(kSumRank);
      if (word_ != ")") refuse("')' or an operation");
      advance();
      --depth_;
      return inner;
    }
    int value = 0;
    const char* const end = word_.data() + word_.size();
    const auto result = std::from_chars(word_.data(), end, value);
    if (word_.empty() || result.ec != std::errc() || result.ptr != end) {
      refuse("an integer or '('");
    }
    advance();
    return make_number(value);
  }

  std::optional<ArithmeticOperation> operation_of_rank(int rank) const {
    for (std::size_t i = 0; i < std::size(kArithmeticOperationTokens); ++i) {
      const auto operation = static_cast<ArithmeticOperation>(i);
      if (word_ == kArithmeticOperationTokens[i] && rank_of(operation) == rank) return operation;
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

ArithmeticExpression::ArithmeticExpression(int value) : node_(make_number(value)) {}

ArithmeticExpression::ArithmeticExpression(ArithmeticOperation operation,
                                           const ArithmeticExpression& left,
                                           const ArithmeticExpression& right)
    : node_(make_operation(operation, left.node_, right.node_)) {}

ArithmeticExpression::ArithmeticExpression(std::shared_ptr<const Node> node)
    : node_(std::move(node)) {}

ArithmeticExpression ArithmeticExpression::parse(std::string_view text) {
  return ArithmeticExpression(Parser(text).parse());
}

std::string ArithmeticExpression::text() const {
  std::string text;
  append_text(*node_, text);
  return text;
}

bool ArithmeticExpression::is_number() const { return node_->is_number(); }

int ArithmeticExpression::num_operands() const { return count_operands(*node_); }

std::int64_t ArithmeticExpression::value() const { return evaluate(*node_); }

bool ArithmeticExpression::is_exact_within(const IntegerRange& range) const {
  return evaluate_within(*node_, range).has_value();
}

ArithmeticExpression ArithmeticExpression::simplified() const {
  if (is_number()) {
    throw InvalidArgument("arithmetic expression: only operations can be simplified, got {}",
                          node_->value);
  }
  return ArithmeticExpression(simplify(*node_));
}

std::vector<ArithmeticExpression> ArithmeticExpression::steps() const {
  std::vector<ArithmeticExpression> all = {*this};
  while (!all.back().is_number()) all.push_back(all.back().simplified());
  return all;
}

std::string ArithmeticExpression::solution() const {
  std::string text;
  for (const ArithmeticExpression& step : steps()) {
    if (!text.empty()) text += " = ";
    append_text(*step.node_, text);
  }
  return text;
}

}  // namespace lime
