// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/chat/jinja_template.h"

#include <algorithm>
#include <array>
#include <ctime>

#include "checkpoint/chat/jinja_operators.h"
#include "checkpoint/chat/jinja_parser.h"
#include "core/errors.h"
#include "core/utf8.h"

namespace lime::jinja {
namespace {

Value range(const Arguments& arguments) {
  std::array<std::int64_t, 3> bounds = {0, 0, 1};
  const std::size_t count = arguments.positional.size();
  throw_if<FormatError>(count < 1 || count > 3, "range requires 1 to 3 whole numbers");
  for (std::size_t i = 0; i < count; ++i) {
    throw_if<FormatError>(!arguments.positional[i].integer(), "range requires whole numbers");
    bounds[count == 1 ? 1 : i] = *arguments.positional[i].integer();
  }
  const auto [begin, end, step] = bounds;
  throw_if<FormatError>(step == 0, "the step of range must not be 0");
  std::vector<Value> numbers;
  for (std::int64_t i = begin; step > 0 ? i < end : i > end;) {
    throw_if<FormatError>(numbers.size() >= kMaxListItems, "range must have at most {} items",
                          kMaxListItems);
    numbers.emplace_back(i);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return Value::list(std::move(numbers));
}

Value make_namespace(const Arguments& arguments) {
  auto space = std::make_shared<Namespace>();
  for (const Value& value : arguments.positional) {
    throw_if<FormatError>(value.dict() == nullptr, "namespace requires dicts and named values");
    for (const auto& [name, item] : value.dict()->items) space->set(name, item);
  }
  for (const auto& [name, value] : arguments.named) space->set(name, value);
  return space;
}

Value make_dict(const Arguments& arguments) {
  std::vector<std::pair<std::string, Value>> items;
  if (!arguments.positional.empty() && arguments.positional.front().dict() != nullptr) {
    items = arguments.positional.front().dict()->items;
  }
  items.insert(items.end(), arguments.named.begin(), arguments.named.end());
  return Value::dict(std::move(items));
}

Value raise_exception(const Arguments& arguments) {
  const std::string reason = arguments.find(0, "message").value_or(Value("no reason")).str();
  throw InvalidArgument("the chat template does not accept these messages: {}",
                        printable(reason, 300));
}

/// Returns the present time in the format of strftime(), in local time as Python's.
Value strftime_now(const Arguments& arguments) {
  const std::string format = arguments.find(0, "format").value_or(Value("")).str();
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::array<char, 256> text{};
  return std::string(text.data(), std::strftime(text.data(), text.size(), format.c_str(), &local));
}

std::shared_ptr<Scope> global_scope() {
  auto scope = std::make_shared<Scope>();
  scope->set("range", Value::function(range));
  scope->set("namespace", Value::function(make_namespace));
  scope->set("dict", Value::function(make_dict));
  scope->set("raise_exception", Value::function(raise_exception));
  scope->set("strftime_now", Value::function(strftime_now));
  return scope;
}

}  // namespace

Template::Template(std::string_view source, std::string where)
    : where_(std::move(where)), body_(parse(source, where_)) {}

std::string Template::render(const Variables& variables) const {
  auto scope = std::make_shared<Scope>(global_scope());
  for (const auto& [name, value] : variables) scope->set(name, value);
  std::string output;
  Rendering rendering;
  Frame frame{std::move(scope), output, rendering};
  try {
    run(body_, frame);
  } catch (const FormatError& error) {
    throw FormatError("{} line {}: {}", where_, rendering.line, error.what());
  }
  return output;
}

}  // namespace lime::jinja
