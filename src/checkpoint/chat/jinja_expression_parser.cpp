// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/chat/jinja_expression_parser.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <limits>

#include "checkpoint/chat/jinja_filters.h"
#include "checkpoint/chat/jinja_operators.h"
#include "core/errors.h"
#include "core/utf8.h"

namespace lime::jinja {
namespace {

/// The arguments of a call; those of `*list` and `**dict` follow the others.
struct CallArguments {
  std::vector<Expression> positional;
  std::vector<std::pair<std::string, Expression>> named;
  Expression list;
  Expression dict;

  Arguments evaluated(Frame& frame) const {
    Arguments arguments;
    for (const Expression& argument : positional) arguments.positional.push_back(argument(frame));
    for (const auto& [name, argument] : named) arguments.named.emplace_back(name, argument(frame));
    if (list) {
      const std::vector<Value> items = iterated(list(frame));
      arguments.positional.insert(arguments.positional.end(), items.begin(), items.end());
    }
    if (dict) {
      const Value value = dict(frame);
      throw_if<FormatError>(value.dict() == nullptr, "** in a call needs a dict, got {}",
                            value.type());
      const auto& items = value.dict()->items;
      arguments.named.insert(arguments.named.end(), items.begin(), items.end());
    }
    return arguments;
  }
};

class ExpressionParser {
 public:
  explicit ExpressionParser(TokenReader& reader) : reader_(reader) {}

  // The levels of binding follow each other, the loosest first.

  /// An expression, or several with commas between them.
  Expression tuple() {
    Expression first = expression();
    if (!reader_.sees_operator(",")) return first;
    std::vector<Expression> items = {std::move(first)};
    while (reader_.accepts_operator(",")) {
      if (reader_.sees(TokenKind::kBlockEnd) || reader_.sees(TokenKind::kPrintEnd)) break;
      items.push_back(expression());
    }
    return list_of(std::move(items), true);
  }

  static Expression list_of(std::vector<Expression> items, bool is_tuple) {
    return [items = std::move(items), is_tuple](Frame& frame) {
      std::vector<Value> values;
      for (const Expression& item : items) values.push_back(item(frame));
      return Value::list(std::move(values), is_tuple);
    };
  }

  Expression expression() {
    const TokenReader::Nesting nesting(reader_);
    Expression value = disjunction();
    for (; reader_.accepts_name("if"); reader_.count_operator()) {
      Expression condition = disjunction();
      Expression otherwise = reader_.accepts_name("else") ? expression() : Expression();
      value = [value = std::move(value), condition = std::move(condition),
               otherwise = std::move(otherwise)](Frame& frame) -> Value {
        if (condition(frame).truth()) return value(frame);
        return otherwise ? otherwise(frame) : Value(Undefined{"else"});
      };
    }
    return value;
  }

  Expression disjunction() {
    Expression value = conjunction();
    for (; reader_.accepts_name("or"); reader_.count_operator()) {
      value = [a = std::move(value), b = conjunction()](Frame& frame) {
        Value left = a(frame);
        return left.truth() ? left : b(frame);
      };
    }
    return value;
  }

  Expression conjunction() {
    Expression value = negation();
    for (; reader_.accepts_name("and"); reader_.count_operator()) {
      value = [a = std::move(value), b = negation()](Frame& frame) {
        Value left = a(frame);
        return left.truth() ? b(frame) : left;
      };
    }
    return value;
  }

  Expression negation() {
    if (!reader_.accepts_name("not")) return comparison();
    const TokenReader::Nesting nesting(reader_);
    return [value = negation()](Frame& frame) -> Value { return !value(frame).truth(); };
  }

  /// Returns the comparison that follows: an operator, "in" or "not in"; empty if none does.
  std::string comparison_operator() {
    for (const std::string_view op : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (reader_.accepts_operator(op)) return std::string(op);
    }
    if (reader_.accepts_name("in")) return "in";
    if (!reader_.sees_name("not") || !reader_.next().is(TokenKind::kName, "in")) return "";
    reader_.take();
    reader_.take();
    return "not in";
  }

  static bool holds(const std::string& op, const Value& a, const Value& b) {
    if (op == "in") return contains(b, a);
    if (op == "not in") return !contains(b, a);
    return compares(op, a, b);
  }

  Expression comparison() {
    Expression first = sum();
    std::vector<std::pair<std::string, Expression>> rest;
    for (std::string op = comparison_operator(); !op.empty(); op = comparison_operator()) {
      reader_.count_operator();
      rest.emplace_back(op, sum());
    }
    if (rest.empty()) return first;
    return [first = std::move(first), rest = std::move(rest)](Frame& frame) -> Value {
      Value left = first(frame);
      for (const auto& [op, operand] : rest) {
        Value right = operand(frame);
        frame.rendering.step(std::min(left.extent().bytes, right.extent().bytes));
        if (!holds(op, left, right)) return false;
        left = std::move(right);
      }
      return true;
    };
  }

  /// Parses operands of the next level with operators between them, from the left.
  template <typename Operand>
  Expression operations(std::initializer_list<std::string_view> ops, const Operand& operand) {
    Expression value = operand();
    for (;; reader_.count_operator()) {
      const auto* const op = std::ranges::find_if(
          ops, [&](std::string_view candidate) { return reader_.sees_operator(candidate); });
      if (op == ops.end()) return value;
      reader_.take();
      value = [op = *op, a = std::move(value), b = operand()](Frame& frame) {
        const Value left = a(frame);
        return frame.rendering.made(arithmetic(op, left, b(frame)));
      };
    }
  }

  Expression sum() {
    return operations({"+", "-"}, [&] { return concatenation(); });
  }
  Expression concatenation() {
    return operations({"~"}, [&] { return product(); });
  }
  Expression product() {
    return operations({"*", "//", "/", "%"}, [&] { return power(); });
  }
  Expression power() {
    return operations({"**"}, [&] { return unary(true); });
  }

  Expression unary(bool has_filters) {
    const TokenReader::Nesting nesting(reader_);
    Expression value;
    if (reader_.accepts_operator("-")) {
      value = [operand = unary(false)](Frame& frame) { return negated(operand(frame)); };
    } else if (reader_.accepts_operator("+")) {
      value = unary(false);
    } else {
      value = postfix(primary());
    }
    return has_filters ? filters(std::move(value)) : value;
  }

  Expression filters(Expression value) {
    for (;; reader_.count_operator()) {
      if (reader_.accepts_operator("|")) {
        value = filtered(std::move(value));
      } else if (reader_.accepts_name("is")) {
        value = tested(std::move(value));
      } else if (reader_.sees_operator("(")) {
        value = called(std::move(value));
      } else {
        return value;
      }
    }
  }

  Expression filtered(Expression value) {
    const std::string name = reader_.expect_name();
    const Filter filter = find_filter(name);
    if (filter == nullptr)
      reader_.fail(fmt::format("the filter '{}' is not supported", printable(name)));
    CallArguments arguments;
    if (reader_.accepts_operator("(")) arguments = call_arguments();
    return [filter, value = std::move(value), arguments = std::move(arguments)](Frame& frame) {
      const Value filtered = value(frame);
      return frame.rendering.made(filter(filtered, arguments.evaluated(frame)));
    };
  }

  Expression tested(Expression value) {
    const bool is_negated = reader_.accepts_name("not");
    const std::string name = reader_.expect_name();
    const Test test = find_test(name);
    if (test == nullptr)
      reader_.fail(fmt::format("the test '{}' is not supported", printable(name)));
    CallArguments arguments;
    const bool has_operand = reader_.sees(TokenKind::kName) || reader_.sees(TokenKind::kString) ||
                             reader_.sees(TokenKind::kInteger) || reader_.sees(TokenKind::kFloat) ||
                             reader_.sees_operator("[") || reader_.sees_operator("{");
    if (reader_.accepts_operator("(")) {
      arguments = call_arguments();
    } else if (has_operand && !reader_.sees_name("else") && !reader_.sees_name("or") &&
               !reader_.sees_name("and") && !reader_.sees_name("is") && !reader_.sees_name("if")) {
      arguments.positional.push_back(postfix(primary()));
    }
    return [test, is_negated, value = std::move(value),
            arguments = std::move(arguments)](Frame& frame) -> Value {
      frame.rendering.step();
      const Value tested = value(frame);
      return test(tested, arguments.evaluated(frame)) != is_negated;
    };
  }

  Expression postfix(Expression value) {
    for (;; reader_.count_operator()) {
      if (reader_.accepts_operator(".")) {
        value = member(std::move(value));
      } else if (reader_.accepts_operator("[")) {
        value = element(std::move(value));
      } else if (reader_.sees_operator("(")) {
        value = called(std::move(value));
      } else {
        return value;
      }
    }
  }

  Expression member(Expression object) {
    if (reader_.sees(TokenKind::kInteger)) {
      return [object = std::move(object), index = whole_number()](Frame& frame) {
        return subscript(object(frame), index);
      };
    }
    return [object = std::move(object), name = reader_.expect_name()](Frame& frame) {
      return attribute(object(frame), name);
    };
  }

  Expression element(Expression object) {
    std::array<Expression, 3> bounds;
    std::size_t place = 0;
    while (!reader_.accepts_operator("]")) {
      if (reader_.accepts_operator(":")) {
        if (++place > 2) reader_.fail("a slice has at most three bounds");
      } else {
        if (bounds[place]) reader_.fail("']' is expected");
        bounds[place] = expression();
      }
    }
    if (place == 0) {
      if (!bounds[0]) reader_.fail("a key is expected");
      return [object = std::move(object), key = std::move(bounds[0])](Frame& frame) {
        const Value value = object(frame);
        return subscript(value, key(frame));
      };
    }
    return [object = std::move(object), bounds = std::move(bounds)](Frame& frame) {
      const Value value = object(frame);
      std::array<std::optional<Value>, 3> values;
      for (std::size_t i = 0; i < bounds.size(); ++i) {
        if (bounds[i]) values[i] = bounds[i](frame);
      }
      return slice(value, values[0], values[1], values[2]);
    };
  }

  Expression called(Expression callee) {
    reader_.expect_operator("(");
    return [callee = std::move(callee), arguments = call_arguments()](Frame& frame) {
      frame.rendering.step();
      const Value function = callee(frame);
      if (const Undefined* const absent = function.get_if<Undefined>()) {
        throw FormatError("'{}' is undefined or not supported", printable(absent->name));
      }
      throw_if<FormatError>(function.function() == nullptr, "{} cannot be called", function.type());
      return frame.rendering.made((*function.function())(arguments.evaluated(frame)));
    };
  }

  /// Parses what follows the opening bracket of a call.
  CallArguments call_arguments() {
    CallArguments arguments;
    bool is_first = true;
    while (!reader_.accepts_operator(")")) {
      if (!std::exchange(is_first, false)) {
        reader_.expect_operator(",");
        if (reader_.accepts_operator(")")) break;
      }
      if (reader_.accepts_operator("*")) {
        arguments.list = expression();
      } else if (reader_.accepts_operator("**")) {
        arguments.dict = expression();
      } else if (reader_.sees(TokenKind::kName) && reader_.next().is(TokenKind::kOperator, "=")) {
        std::string name = reader_.take().text;
        reader_.take();
        arguments.named.emplace_back(std::move(name), expression());
      } else {
        arguments.positional.push_back(expression());
      }
    }
    return arguments;
  }

  static Expression constant(Value value) {
    return [value = std::move(value)](Frame&) { return value; };
  }

  std::int64_t whole_number() {
    const Token token = reader_.take();
    std::int64_t number = 0;
    const char* const end = token.text.data() + token.text.size();
    if (std::from_chars(token.text.data(), end, number).ptr != end)
      reader_.fail("a number is too large");
    return number;
  }

  double float_number() {
    const std::string text = reader_.take().text;
    double number = 0.0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
    if (result.ec == std::errc()) return number;
    const bool is_tiny = text.find('-') != std::string::npos;  // in the exponent
    return is_tiny ? 0.0 : std::numeric_limits<double>::infinity();
  }

  Expression primary() {
    if (reader_.sees(TokenKind::kInteger)) return constant(whole_number());
    if (reader_.sees(TokenKind::kFloat)) return constant(float_number());
    if (reader_.sees(TokenKind::kString)) {
      std::string text;
      while (reader_.sees(TokenKind::kString)) text += reader_.take().text;
      return constant(text);
    }
    if (reader_.accepts_operator("(")) return bracket();
    if (reader_.accepts_operator("[")) return list_of(items_up_to("]"), false);
    if (reader_.accepts_operator("{")) return dict();
    if (!reader_.sees(TokenKind::kName)) {
      reader_.fail(fmt::format("a value is expected, got '{}'", printable(reader_.now().text)));
    }
    const std::string name = reader_.take().text;
    if (name == "true" || name == "True") return constant(true);
    if (name == "false" || name == "False") return constant(false);
    if (name == "none" || name == "None") return constant(None{});
    return [name](Frame& frame) { return frame.rendering.made(frame.scope->find(name)); };
  }

  /// Parses expressions with commas between them, and the bracket that closes them.
  std::vector<Expression> items_up_to(std::string_view end) {
    std::vector<Expression> items;
    while (!reader_.accepts_operator(end)) {
      if (!items.empty()) {
        reader_.expect_operator(",");
        if (reader_.accepts_operator(end)) break;
      }
      items.push_back(expression());
    }
    return items;
  }

  /// Parses what follows an opening round bracket: a tuple if it has a comma or nothing in it.
  Expression bracket() {
    if (reader_.accepts_operator(")")) return list_of({}, true);
    Expression first = expression();
    if (reader_.accepts_operator(")")) return first;
    reader_.expect_operator(",");
    std::vector<Expression> items = items_up_to(")");
    items.insert(items.begin(), std::move(first));
    return list_of(std::move(items), true);
  }

  Expression dict() {
    std::vector<std::pair<Expression, Expression>> entries;
    while (!reader_.accepts_operator("}")) {
      if (!entries.empty()) {
        reader_.expect_operator(",");
        if (reader_.accepts_operator("}")) break;
      }
      Expression key = expression();
      reader_.expect_operator(":");
      entries.emplace_back(std::move(key), expression());
    }
    return [entries = std::move(entries)](Frame& frame) {
      std::vector<std::pair<std::string, Value>> items;
      for (const auto& [key, value] : entries) {
        const Value name = key(frame);
        throw_if<FormatError>(name.text() == nullptr, "the keys of a dict must be strings");
        std::erase_if(items, [&](const auto& item) { return item.first == *name.text(); });
        items.emplace_back(*name.text(), value(frame));
      }
      return Value::dict(std::move(items));
    };
  }

  TokenReader& reader_;
};

}  // namespace

Expression parse_expression(TokenReader& reader) { return ExpressionParser(reader).expression(); }
Expression parse_tuple(TokenReader& reader) { return ExpressionParser(reader).tuple(); }
Expression parse_loop_items(TokenReader& reader) { return ExpressionParser(reader).disjunction(); }

}  // namespace lime::jinja
