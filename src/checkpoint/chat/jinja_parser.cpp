// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/chat/jinja_parser.h"

#include <algorithm>
#include <initializer_list>

#include "checkpoint/chat/jinja_expression_parser.h"
#include "checkpoint/chat/jinja_token_reader.h"
#include "core/errors.h"
#include "core/utf8.h"

namespace lime::jinja {
namespace {

constexpr int kMaxCalls = 20;  // of macros within each other
constexpr std::size_t kMaxSourceBytes = std::size_t{1} << 20;

/// A name that a loop or `set` gives a value, or several that share the items of a list.
using Targets = std::vector<std::string>;

void assign(const Targets& targets, const Value& value, Scope& scope) {
  if (targets.size() == 1) return scope.set(targets.front(), value);
  const std::vector<Value> items = iterated(value);
  throw_if<FormatError>(items.size() != targets.size(), "cannot assign {} values to {} names",
                        items.size(), targets.size());
  for (std::size_t i = 0; i < items.size(); ++i) scope.set(targets[i], items[i]);
}

struct Loop {
  Targets targets;
  Expression items;
  Expression condition;  // may be empty
  Block body;
  Block otherwise;  // runs if there are no items

  Flow run_in(Frame& frame) const;

 private:
  std::vector<Value> visited(Frame& frame) const;
};

std::vector<Value> Loop::visited(Frame& frame) const {
  std::vector<Value> visited = iterated(items(frame));
  if (!condition) return visited;
  std::erase_if(visited, [&](const Value& item) {
    Frame inner{std::make_shared<Scope>(frame.scope), frame.output, frame.rendering};
    assign(targets, item, *inner.scope);
    return !condition(inner).truth();
  });
  return visited;
}

/// Returns the variable `loop` of pass `i`.
Value loop_variable(const std::vector<Value>& items, std::size_t i) {
  const auto at = static_cast<std::int64_t>(i);
  const auto count = static_cast<std::int64_t>(items.size());
  const Value before = i > 0 ? items[i - 1] : Value(Undefined{"previtem"});
  const Value after = i + 1 < items.size() ? items[i + 1] : Value(Undefined{"nextitem"});
  const auto cycle = [i](const Arguments& arguments) {
    throw_if<FormatError>(arguments.positional.empty(), "cycle needs arguments");
    return arguments.positional[i % arguments.positional.size()];
  };
  return Value::dict({{"index0", at},
                      {"index", at + 1},
                      {"revindex0", count - at - 1},
                      {"revindex", count - at},
                      {"first", i == 0},
                      {"last", i + 1 == items.size()},
                      {"length", count},
                      {"previtem", before},
                      {"nextitem", after},
                      {"cycle", Value::function(cycle)}});
}

Flow Loop::run_in(Frame& frame) const {
  const std::vector<Value> values = visited(frame);
  if (values.empty()) return run(otherwise, frame);
  for (std::size_t i = 0; i < values.size(); ++i) {
    frame.rendering.step();
    Frame inner{std::make_shared<Scope>(frame.scope), frame.output, frame.rendering};
    inner.scope->set("loop", loop_variable(values, i));
    assign(targets, values[i], *inner.scope);
    if (run(body, inner) == Flow::kBreak) break;
  }
  return Flow::kNext;
}

struct Macro {
  std::string name;
  std::vector<std::pair<std::string, Expression>> parameters;  // with their defaults, if any
  Block body;

  Value call(const Arguments& arguments, const std::shared_ptr<Scope>& around,
             Rendering& rendering) const {
    throw_if<FormatError>(arguments.positional.size() > parameters.size(),
                          "the macro '{}' accepts at most {} arguments", name, parameters.size());
    throw_if<FormatError>(++rendering.num_calls > kMaxCalls,
                          "macros must call each other at most {} deep", kMaxCalls);
    rendering.step();
    const int line = rendering.line;
    std::string output;
    Frame frame{std::make_shared<Scope>(around), output, rendering};
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const auto& [parameter, otherwise] = parameters[i];
      std::optional<Value> value = arguments.find(i, parameter);
      if (!value) value = otherwise ? otherwise(frame) : Value(Undefined{parameter});
      frame.scope->set(parameter, std::move(*value));
    }
    run(body, frame);
    rendering.line = line;
    --rendering.num_calls;
    return output;
  }
};

class Parser {
 public:
  Parser(std::string_view source, std::string_view where) : reader_(source, where) {}

  Block template_body() {
    Block body = block({});
    if (!reader_.sees(TokenKind::kEnd)) reader_.fail("the block has no beginning");
    return body;
  }

 private:
  /// Returns true if a block begins with one of the names; stays before it.
  bool sees_block(std::initializer_list<std::string_view> names) const {
    if (!reader_.sees(TokenKind::kBlockBegin)) return false;
    return std::ranges::any_of(
        names, [&](std::string_view name) { return reader_.next().is(TokenKind::kName, name); });
  }

  /// Parses until a block that begins with one of `ends`, or the end of the template.
  Block block(std::initializer_list<std::string_view> ends) {
    const TokenReader::Nesting nesting(reader_);
    Block statements;
    while (!reader_.sees(TokenKind::kEnd) && !sees_block(ends)) {
      const Token token = reader_.take();
      if (token.kind == TokenKind::kText) {
        statements.push_back([text = token.text](Frame& frame) {
          frame.write(text);
          return Flow::kNext;
        });
      } else if (token.kind == TokenKind::kPrintBegin) {
        statements.push_back(print(token.line));
      } else {
        statements.push_back(statement());
      }
    }
    if (ends.size() > 0 && reader_.sees(TokenKind::kEnd)) {
      reader_.fail(fmt::format("'{}' is missing", *(ends.end() - 1)));
    }
    return statements;
  }

  /// Parses a block up to its end `{% name %}`.
  Block block_up_to(std::string_view name) {
    Block body = block({name});
    reader_.take();
    reader_.take();
    reader_.expect(TokenKind::kBlockEnd);
    return body;
  }

  Statement print(int line) {
    Expression value = parse_tuple(reader_);
    reader_.expect(TokenKind::kPrintEnd);
    return [line, value = std::move(value)](Frame& frame) {
      frame.rendering.line = line;
      frame.write(value(frame).str());
      return Flow::kNext;
    };
  }

  Statement statement() {
    const int line = reader_.now().line;
    const std::string word = reader_.expect_name();
    if (word == "if") return at_line(line, conditional());
    if (word == "for") return at_line(line, loop());
    if (word == "set") return at_line(line, set());
    if (word == "macro") return macro();
    if (word == "generation") {
      reader_.expect(TokenKind::kBlockEnd);
      return [body = block_up_to("endgeneration")](Frame& frame) { return run(body, frame); };
    }
    if (word == "break" || word == "continue") {
      reader_.expect(TokenKind::kBlockEnd);
      return [flow = word == "break" ? Flow::kBreak : Flow::kContinue](Frame&) { return flow; };
    }
    reader_.fail(fmt::format("the statement '{}' is not supported", printable(word)));
  }

  static Statement at_line(int line, Statement statement) {
    return [line, statement = std::move(statement)](Frame& frame) {
      frame.rendering.line = line;
      frame.rendering.step();
      return statement(frame);
    };
  }

  Statement conditional() {
    std::vector<std::pair<Expression, Block>> branches;
    Block otherwise;
    do {
      Expression condition = parse_expression(reader_);
      reader_.expect(TokenKind::kBlockEnd);
      branches.emplace_back(std::move(condition), block({"elif", "else", "endif"}));
      reader_.take();
    } while (reader_.accepts_name("elif"));
    if (reader_.accepts_name("else")) {
      reader_.expect(TokenKind::kBlockEnd);
      otherwise = block({"endif"});
      reader_.take();
    }
    reader_.take();
    reader_.expect(TokenKind::kBlockEnd);
    return [branches = std::move(branches), otherwise = std::move(otherwise)](Frame& frame) {
      for (const auto& [condition, body] : branches) {
        if (condition(frame).truth()) return run(body, frame);
      }
      return run(otherwise, frame);
    };
  }

  Targets targets() {
    const bool has_bracket = reader_.accepts_operator("(");
    Targets names = {reader_.expect_name()};
    while (reader_.accepts_operator(",")) names.push_back(reader_.expect_name());
    if (has_bracket) reader_.expect_operator(")");
    return names;
  }

  Statement loop() {
    Loop loop;
    loop.targets = targets();
    if (!reader_.accepts_name("in")) reader_.fail("'in' is expected");
    loop.items = parse_loop_items(reader_);
    if (reader_.accepts_name("if")) loop.condition = parse_expression(reader_);
    if (reader_.sees_name("recursive")) reader_.fail("recursive loops are not supported");
    reader_.expect(TokenKind::kBlockEnd);
    loop.body = block({"else", "endfor"});
    reader_.take();
    if (reader_.accepts_name("else")) {
      reader_.expect(TokenKind::kBlockEnd);
      loop.otherwise = block({"endfor"});
      reader_.take();
    }
    reader_.take();
    reader_.expect(TokenKind::kBlockEnd);
    return [loop = std::move(loop)](Frame& frame) { return loop.run_in(frame); };
  }

  Statement set() {
    Targets names = targets();
    const std::string attribute_name = reader_.accepts_operator(".") ? reader_.expect_name() : "";
    if (!attribute_name.empty() && names.size() > 1)
      reader_.fail("one attribute can be set at a time");
    Expression value;
    if (reader_.accepts_operator("=")) {
      value = parse_tuple(reader_);
      reader_.expect(TokenKind::kBlockEnd);
    } else {
      reader_.expect(TokenKind::kBlockEnd);
      value = [body = block_up_to("endset")](Frame& frame) -> Value {
        std::string text;
        Frame inner{std::make_shared<Scope>(frame.scope), text, frame.rendering};
        run(body, inner);
        return text;
      };
    }
    if (attribute_name.empty()) {
      return [names = std::move(names), value = std::move(value)](Frame& frame) {
        assign(names, value(frame), *frame.scope);
        return Flow::kNext;
      };
    }
    return [name = names.front(), attribute_name, value = std::move(value)](Frame& frame) {
      const Value object = frame.scope->find(name);
      throw_if<FormatError>(object.name_space() == nullptr,
                            "'{}' must be a namespace for its attribute to be set", name);
      object.name_space()->set(attribute_name, value(frame));
      return Flow::kNext;
    };
  }

  Statement macro() {
    auto macro = std::make_shared<Macro>();
    macro->name = reader_.expect_name();
    reader_.expect_operator("(");
    while (!reader_.accepts_operator(")")) {
      if (!macro->parameters.empty()) reader_.expect_operator(",");
      std::string parameter = reader_.expect_name();
      Expression otherwise =
          reader_.accepts_operator("=") ? parse_expression(reader_) : Expression();
      macro->parameters.emplace_back(std::move(parameter), std::move(otherwise));
    }
    reader_.expect(TokenKind::kBlockEnd);
    macro->body = block_up_to("endmacro");
    return [macro = std::move(macro)](Frame& frame) {
      // The scope holds the function, which must not hold the scope.
      const auto function = [macro, around = std::weak_ptr(frame.scope),
                             &rendering = frame.rendering](const Arguments& arguments) {
        const std::shared_ptr<Scope> scope = around.lock();
        throw_if<FormatError>(scope == nullptr, "the macro '{}' is called outside of its block",
                              macro->name);
        return macro->call(arguments, scope, rendering);
      };
      frame.scope->set(macro->name, Value::function(function));
      return Flow::kNext;
    };
  }

  TokenReader reader_;
};

}  // namespace

Block parse(std::string_view source, std::string_view where) {
  throw_if<FormatError>(source.size() > kMaxSourceBytes, "{}: must have at most {} bytes", where,
                        kMaxSourceBytes);
  throw_if<FormatError>(first_invalid_utf8(source).has_value(), "{}: must be UTF-8", where);
  return Parser(source, where).template_body();
}

}  // namespace lime::jinja
