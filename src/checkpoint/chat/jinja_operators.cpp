// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/chat/jinja_operators.h"

#include <algorithm>
#include <cmath>

#include "checkpoint/chat/jinja_methods.h"
#include "checkpoint/tokenizer/python_text.h"
#include "core/errors.h"
#include "core/utf8.h"

namespace lime::jinja {
namespace {

[[noreturn]] void refuse(std::string_view op, const Value& a, const Value& b) {
  for (const Value* const value : {&a, &b}) {
    if (const Undefined* const absent = value->get_if<Undefined>()) {
      throw FormatError("'{}' is undefined", printable(absent->name));
    }
  }
  throw FormatError("{} {} {} is not defined", a.type(), op, b.type());
}

void check_length(std::size_t length, std::size_t limit) {
  throw_if<FormatError>(length > limit, "a value must have at most {} bytes or items", limit);
}

Value repeated(const Value& value, std::int64_t count) {
  const auto times = static_cast<std::size_t>(std::max<std::int64_t>(count, 0));
  const std::size_t size = value.text() ? value.text()->size() : value.list()->items.size();
  const std::size_t limit = value.text() ? kMaxTextBytes : kMaxListItems;
  if (size == 0) return value;
  check_length(times > limit ? limit + 1 : size * times, limit);
  check_length(value.extent().bytes * times, kMaxTextBytes);
  if (value.text() != nullptr) {
    std::string text;
    for (std::size_t i = 0; i < times; ++i) text += *value.text();
    return text;
  }
  std::vector<Value> items;
  for (std::size_t i = 0; i < times; ++i) {
    items.insert(items.end(), value.list()->items.begin(), value.list()->items.end());
  }
  return Value::list(std::move(items), value.list()->is_tuple);
}

Value added(const Value& a, const Value& b) {
  if (a.text() != nullptr && b.text() != nullptr) {
    check_length(a.text()->size() + b.text()->size(), kMaxTextBytes);
    return *a.text() + *b.text();
  }
  if (a.list() != nullptr && b.list() != nullptr && a.list()->is_tuple == b.list()->is_tuple) {
    std::vector<Value> items = a.list()->items;
    items.insert(items.end(), b.list()->items.begin(), b.list()->items.end());
    check_length(items.size(), kMaxListItems);
    return Value::list(std::move(items), a.list()->is_tuple);
  }
  refuse("+", a, b);
}

/// Returns the result of whole numbers; no value if it needs a fraction.
std::optional<Value> whole_arithmetic(std::string_view op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  const auto checked = [&](bool overflows) {
    throw_if<FormatError>(overflows, "whole numbers must be below 2^63");
    return std::optional<Value>(result);
  };
  if (op == "+") return checked(__builtin_add_overflow(a, b, &result));
  if (op == "-") return checked(__builtin_sub_overflow(a, b, &result));
  if (op == "*") return checked(__builtin_mul_overflow(a, b, &result));
  if (op != "//" && op != "%") return std::nullopt;
  throw_if<FormatError>(b == 0, "division by zero");
  if (b == -1) {  // the quotient of the smallest number overflows
    return op == "%" ? checked(false)
                     : checked(__builtin_sub_overflow(std::int64_t{0}, a, &result));
  }
  const bool rounds_down = a % b != 0 && (a < 0) != (b < 0);
  result = op == "//" ? a / b - (rounds_down ? 1 : 0) : a % b + (rounds_down ? b : 0);
  return result;
}

Value power(const Value& a, const Value& b) {
  const double result = std::pow(*a.number(), *b.number());
  const bool is_whole = a.integer() && b.integer() && *b.integer() >= 0;
  if (!is_whole) return result;
  throw_if<FormatError>(!(std::abs(result) < 9.0e15), "whole powers must be below 2^53");
  return static_cast<std::int64_t>(result);
}

Value fraction_arithmetic(std::string_view op, double a, double b) {
  if (op == "+") return a + b;
  if (op == "-") return a - b;
  if (op == "*") return a * b;
  throw_if<FormatError>(b == 0.0, "division by zero");
  if (op == "/") return a / b;
  const double quotient = std::floor(a / b);
  return op == "//" ? quotient : a - quotient * b;
}

/// Returns -1, 0 or 1. @throws FormatError  if the values have no order
int order(const Value& a, const Value& b) {
  if (const auto left = a.number(), right = b.number(); left && right) {
    return *left < *right ? -1 : *left > *right ? 1 : 0;
  }
  if (a.text() != nullptr && b.text() != nullptr) {
    const int result = a.text()->compare(*b.text());
    return result < 0 ? -1 : result > 0 ? 1 : 0;
  }
  if (a.list() != nullptr && b.list() != nullptr) {
    const auto& left = a.list()->items;
    const auto& right = b.list()->items;
    for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
      if (!(left[i] == right[i])) return order(left[i], right[i]);
    }
    return left.size() < right.size() ? -1 : left.size() > right.size() ? 1 : 0;
  }
  refuse("<", a, b);
}

/// Returns the place of an index that may count from the end; no value if it is outside.
std::optional<std::size_t> place_of(std::int64_t index, std::size_t size) {
  const auto count = static_cast<std::int64_t>(size);
  if (index < -count || index >= count) return std::nullopt;
  return static_cast<std::size_t>(index < 0 ? index + count : index);
}

}  // namespace

Value arithmetic(std::string_view op, const Value& a, const Value& b) {
  if (op == "~") {
    std::string text = a.str() + b.str();
    check_length(text.size(), kMaxTextBytes);
    return text;
  }
  if (a.number() && b.number()) {
    if (op == "**") return power(a, b);
    if (a.integer() && b.integer()) {
      if (const auto whole = whole_arithmetic(op, *a.integer(), *b.integer())) return *whole;
    }
    return fraction_arithmetic(op, *a.number(), *b.number());
  }
  if (op == "+") return added(a, b);
  if (op == "*") {
    const bool a_repeats = a.integer().has_value();
    const Value& value = a_repeats ? b : a;
    const Value& count = a_repeats ? a : b;
    if (count.integer() && (value.text() != nullptr || value.list() != nullptr)) {
      return repeated(value, *count.integer());
    }
  }
  refuse(op, a, b);
}

Value negated(const Value& value) {
  if (const auto whole = value.integer()) return arithmetic("-", std::int64_t{0}, *whole);
  if (const auto number = value.number()) return -*number;
  throw FormatError("minus {} is not defined", value.type());
}

bool compares(std::string_view op, const Value& a, const Value& b) {
  if (op == "==") return a == b;
  if (op == "!=") return !(a == b);
  const int result = order(a, b);
  if (op == "<") return result < 0;
  if (op == ">") return result > 0;
  return op == "<=" ? result <= 0 : result >= 0;
}

bool contains(const Value& container, const Value& item) {
  if (container.text() != nullptr) {
    if (item.text() == nullptr) refuse("in", item, container);
    return container.text()->find(*item.text()) != std::string::npos;
  }
  if (container.dict() != nullptr) {
    return item.text() != nullptr && container.dict()->find(*item.text()) != nullptr;
  }
  if (container.list() != nullptr) {
    return std::ranges::find(container.list()->items, item) != container.list()->items.end();
  }
  if (container.is<Undefined>()) return false;
  refuse("in", item, container);
}

bool is_less(const Value& a, const Value& b) { return order(a, b) < 0; }

Value subscript(const Value& object, const Value& key) {
  const auto index = key.integer();
  if (index && object.list() != nullptr) {
    const auto place = place_of(*index, object.list()->items.size());
    return place ? object.list()->items[*place] : Value(Undefined{std::to_string(*index)});
  }
  if (index && object.text() != nullptr) {
    const std::vector<std::size_t> starts = code_point_starts(*object.text());
    const auto place = place_of(*index, starts.size() - 1);
    if (!place) return Undefined{std::to_string(*index)};
    return object.text()->substr(starts[*place], starts[*place + 1] - starts[*place]);
  }
  if (key.text() == nullptr) {
    if (object.is<Undefined>()) refuse("[]", object, key);
    return Undefined{key.is<Undefined>() ? "" : key.str()};
  }
  if (object.dict() != nullptr) {
    if (const Value* const found = object.dict()->find(*key.text())) return *found;
  }
  return attribute(object, *key.text());
}

Value slice(const Value& object, const std::optional<Value>& begin, const std::optional<Value>& end,
            const std::optional<Value>& step) {
  const bool is_text = object.text() != nullptr;
  if (!is_text && object.list() == nullptr) {
    if (object.is<Undefined>()) refuse("[:]", object, object);
    throw FormatError("{} cannot be sliced", object.type());
  }
  const std::vector<Value> items = iterated(object);
  const auto count = static_cast<std::int64_t>(items.size());
  const auto whole = [](const std::optional<Value>& bound, std::int64_t otherwise) {
    if (!bound || bound->is<None>()) return otherwise;
    throw_if<FormatError>(!bound->integer(), "the bounds of a slice must be whole numbers");
    return *bound->integer();
  };
  const std::int64_t stride = whole(step, 1);
  throw_if<FormatError>(stride == 0, "the step of a slice must not be 0");
  const auto clamped = [&](std::int64_t bound) {
    if (bound < 0) bound += count;
    return stride > 0 ? std::clamp<std::int64_t>(bound, 0, count)
                      : std::clamp<std::int64_t>(bound, -1, count - 1);
  };
  const bool has_begin = begin && !begin->is<None>();
  const bool has_end = end && !end->is<None>();
  const std::int64_t first = has_begin ? clamped(whole(begin, 0)) : (stride > 0 ? 0 : count - 1);
  const std::int64_t last = has_end ? clamped(whole(end, 0)) : (stride > 0 ? count : -1);
  std::vector<Value> picked;
  for (std::int64_t i = first; stride > 0 ? i < last : i > last;) {
    picked.push_back(items[static_cast<std::size_t>(i)]);
    if (stride > 0 ? stride >= last - i : stride <= last - i) break;
    i += stride;
  }
  if (!is_text) return Value::list(std::move(picked), object.list()->is_tuple);
  std::string text;
  for (const Value& item : picked) text += *item.text();
  return text;
}

Value attribute(const Value& object, std::string_view name) {
  if (const Undefined* const absent = object.get_if<Undefined>()) {
    throw FormatError("'{}' is undefined", printable(absent->name));
  }
  if (std::optional<Value> method = method_of(object, name)) return std::move(*method);
  if (object.dict() != nullptr) {
    if (const Value* const found = object.dict()->find(name)) return *found;
  }
  if (const Namespace* const space = object.name_space()) {
    for (const auto& [key, value] : space->attributes) {
      if (key == name) return value;
    }
  }
  return Undefined{std::string(name)};
}

}  // namespace lime::jinja
