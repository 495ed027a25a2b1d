// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/chat/jinja_filters.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "checkpoint/chat/jinja_methods.h"
#include "checkpoint/chat/jinja_operators.h"
#include "checkpoint/tokenizer/normalizations.h"
#include "checkpoint/tokenizer/python_text.h"
#include "core/errors.h"
#include "core/utf8.h"

namespace lime::jinja {
namespace {

template <typename Function> struct Named {
  std::string_view name;
  Function function;
};

template <typename Function, std::size_t kCount>
Function find_in(const std::array<Named<Function>, kCount>& table, std::string_view name) {
  const auto found = std::ranges::find(table, name, &Named<Function>::name);
  return found == table.end() ? nullptr : found->function;
}

// --- tests -------------------------------------------------------------------------------------

Value first_argument(const Arguments& arguments) {
  throw_if<FormatError>(arguments.positional.empty(), "the test needs an argument");
  return arguments.positional.front();
}

std::int64_t whole_value(const Value& value) {
  throw_if<FormatError>(!value.integer(), "{} must be a whole number", value.type());
  return *value.integer();
}

template <char kFirst, char kSecond>
bool compares_to(const Value& value, const Arguments& arguments) {
  static constexpr char kOp[] = {kFirst, kSecond, '\0'};
  return compares(kOp, value, first_argument(arguments));
}

bool is_equal(const Value& value, const Arguments& arguments) {
  return value == first_argument(arguments);
}

bool has_length(const Value& value) {
  return value.text() != nullptr || value.list() != nullptr || value.dict() != nullptr;
}

constexpr auto kTests = std::to_array<Named<Test>>({
    {"defined", [](const Value& v, const Arguments&) { return !v.is<Undefined>(); }},
    {"undefined", [](const Value& v, const Arguments&) { return v.is<Undefined>(); }},
    {"none", [](const Value& v, const Arguments&) { return v.is<None>(); }},
    {"string", [](const Value& v, const Arguments&) { return v.text() != nullptr; }},
    {"mapping", [](const Value& v, const Arguments&) { return v.dict() != nullptr; }},
    {"sequence", [](const Value& v, const Arguments&) { return has_length(v); }},
    {"iterable",
     [](const Value& v, const Arguments&) { return has_length(v) || v.is<Undefined>(); }},
    {"callable", [](const Value& v, const Arguments&) { return v.function() != nullptr; }},
    {"number", [](const Value& v, const Arguments&) { return v.number().has_value(); }},
    {"integer", [](const Value& v, const Arguments&) { return v.is<std::int64_t>(); }},
    {"float", [](const Value& v, const Arguments&) { return v.is<double>(); }},
    {"boolean", [](const Value& v, const Arguments&) { return v.is<bool>(); }},
    {"true", [](const Value& v, const Arguments&) { return v.is<bool>() && v.truth(); }},
    {"false", [](const Value& v, const Arguments&) { return v.is<bool>() && !v.truth(); }},
    {"odd", [](const Value& v, const Arguments&) { return whole_value(v) % 2 != 0; }},
    {"even", [](const Value& v, const Arguments&) { return whole_value(v) % 2 == 0; }},
    {"divisibleby",
     [](const Value& v, const Arguments& arguments) {
       return !arithmetic("%", whole_value(v), first_argument(arguments)).truth();
     }},
    {"lower", [](const Value& v, const Arguments&) { return lowercase(v.str()) == v.str(); }},
    {"upper", [](const Value& v, const Arguments&) { return uppercase(v.str()) == v.str(); }},
    {"in", [](const Value& v, const Arguments& a) { return contains(first_argument(a), v); }},
    {"eq", is_equal},
    {"equalto", is_equal},
    {"==", is_equal},
    {"ne", [](const Value& v, const Arguments& a) { return !is_equal(v, a); }},
    {"!=", [](const Value& v, const Arguments& a) { return !is_equal(v, a); }},
    {"lt", compares_to<'<', '\0'>},
    {"lessthan", compares_to<'<', '\0'>},
    {"le", compares_to<'<', '='>},
    {"gt", compares_to<'>', '\0'>},
    {"greaterthan", compares_to<'>', '\0'>},
    {"ge", compares_to<'>', '='>},
    {"sameas",
     [](const Value& v, const Arguments& a) {
       return v.type() == first_argument(a).type() && v == first_argument(a);
     }},
});

// --- filters -----------------------------------------------------------------------------------

bool flag(const Arguments& arguments, std::size_t place, std::string_view name) {
  const std::optional<Value> value = arguments.find(place, name);
  return value && value->truth();
}

Value length(const Value& value, const Arguments&) {
  if (value.text() != nullptr) return static_cast<std::int64_t>(code_points_in(*value.text()));
  if (value.is<Undefined>()) return std::int64_t{0};
  throw_if<FormatError>(!has_length(value), "{} has no length", value.type());
  return static_cast<std::int64_t>(iterated(value).size());
}

Value trim(const Value& value, const Arguments& arguments) {
  const std::string text = value.str();
  const std::optional<Value> characters = arguments.find(0, "chars");
  if (!characters || characters->is<None>()) return python_strip(text);
  return std::string(stripped(text, StripSides::kBoth, characters->str()));
}

Value or_default(const Value& value, const Arguments& arguments) {
  const bool is_replaced =
      value.is<Undefined>() || (flag(arguments, 1, "boolean") && !value.truth());
  return is_replaced ? arguments.find(0, "default_value").value_or(Value("")) : value;
}

/// Returns the attribute that a path such as "function.name" or a number names.
Value attribute_at(const Value& value, const Value& path) {
  if (path.integer()) return subscript(value, path);
  throw_if<FormatError>(path.text() == nullptr, "'attribute' must be a name");
  Value at = value;
  std::string_view rest = *path.text();
  while (true) {
    const std::string name(rest.substr(0, rest.find('.')));
    std::int64_t index = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), index);
    const bool is_index = !name.empty() && parsed.ptr == name.data() + name.size();
    at = subscript(at, is_index ? Value(index) : Value(name));
    if (name.size() == rest.size()) return at;
    rest.remove_prefix(name.size() + 1);
  }
}

Value join(const Value& value, const Arguments& arguments) {
  const std::string separator = arguments.find(0, "d").value_or(Value("")).str();
  const std::optional<Value> path = arguments.find(1, "attribute");
  std::string text;
  bool is_first = true;
  for (const Value& item : iterated(value)) {
    if (!std::exchange(is_first, false)) text += separator;
    text += (path ? attribute_at(item, *path) : item).str();
    throw_if<FormatError>(text.size() > kMaxTextBytes, "a string must have at most {} bytes",
                          kMaxTextBytes);
  }
  return text;
}

Value first(const Value& value, const Arguments&) {
  const std::vector<Value> items = iterated(value);
  return items.empty() ? Value(Undefined{"first item"}) : items.front();
}

Value last(const Value& value, const Arguments&) {
  const std::vector<Value> items = iterated(value);
  return items.empty() ? Value(Undefined{"last item"}) : items.back();
}

Value as_json(const Value& value, const Arguments& arguments) {
  throw_if<FormatError>(arguments.find(1, "separators").has_value(),
                        "'separators' of tojson is not supported");
  const std::optional<Value> indent = arguments.find(0, "indent");
  return to_json(value, indent ? indent->integer() : std::nullopt, flag(arguments, 2, "sort_keys"));
}

/// Returns the arguments after the first `count`.
Arguments without(const Arguments& arguments, std::size_t count) {
  Arguments rest = arguments;
  rest.positional.erase(rest.positional.begin(),
                        rest.positional.begin() +
                            static_cast<std::ptrdiff_t>(std::min(count, rest.positional.size())));
  return rest;
}

Value map(const Value& value, const Arguments& arguments) {
  const std::optional<Value> path = arguments.find(SIZE_MAX, "attribute");
  const std::optional<Value> otherwise = arguments.find(SIZE_MAX, "default");
  std::vector<Value> results;
  if (path) {
    for (const Value& item : iterated(value)) {
      const Value found = attribute_at(item, *path);
      results.push_back(found.is<Undefined>() && otherwise ? *otherwise : found);
    }
    return Value::list(std::move(results));
  }
  throw_if<FormatError>(arguments.positional.empty(), "map needs a filter or 'attribute'");
  const std::string name = arguments.positional.front().str();
  const Filter filter = find_filter(name);
  throw_if<FormatError>(filter == nullptr, "the filter '{}' is not supported", printable(name));
  for (const Value& item : iterated(value)) {
    results.push_back(filter(item, without(arguments, 1)));
  }
  return Value::list(std::move(results));
}

/// Keeps the items for which the test that the arguments name holds, or fails if `keeps` is false.
/// @param has_path  the first argument names the attribute that is tested
Value selected(const Value& value, const Arguments& arguments, bool has_path, bool keeps) {
  const std::size_t test_place = has_path ? 1 : 0;
  throw_if<FormatError>(has_path && arguments.positional.empty(), "the filter needs an attribute");
  Test test = nullptr;
  if (arguments.positional.size() > test_place) {
    const std::string name = arguments.positional[test_place].str();
    test = find_test(name);
    throw_if<FormatError>(test == nullptr, "the test '{}' is not supported", printable(name));
  }
  const Arguments rest = without(arguments, test_place + 1);
  std::vector<Value> kept;
  for (const Value& item : iterated(value)) {
    const Value tested = has_path ? attribute_at(item, arguments.positional.front()) : item;
    if ((test == nullptr ? tested.truth() : test(tested, rest)) == keeps) kept.push_back(item);
  }
  return Value::list(std::move(kept));
}

Value dict_items(const Value& value, const Arguments&) {
  if (value.is<Undefined>()) return Value::list({});
  throw_if<FormatError>(value.dict() == nullptr, "items needs a dict, got {}", value.type());
  std::vector<Value> pairs;
  for (const auto& [key, item] : value.dict()->items) {
    pairs.push_back(Value::list({Value(key), item}, true));
  }
  return Value::list(std::move(pairs));
}

/// Returns what sorting compares: texts without regard to case, unless `is_exact`.
Value sort_key(const Value& value, bool is_exact) {
  return value.text() != nullptr && !is_exact ? Value(lowercase(*value.text())) : value;
}

Value dict_sorted(const Value& value, const Arguments& arguments) {
  const bool is_exact = flag(arguments, 0, "case_sensitive");
  const std::string by = arguments.find(1, "by").value_or(Value("key")).str();
  throw_if<FormatError>(by != "key" && by != "value", "'by' must be key or value");
  std::vector<Value> pairs = dict_items(value, {}).list()->items;
  const std::size_t place = by == "key" ? 0 : 1;
  std::ranges::stable_sort(pairs, [&](const Value& a, const Value& b) {
    return is_less(sort_key(a.list()->items[place], is_exact),
                   sort_key(b.list()->items[place], is_exact));
  });
  if (flag(arguments, 2, "reverse")) std::ranges::reverse(pairs);
  return Value::list(std::move(pairs));
}

Value sorted(const Value& value, const Arguments& arguments) {
  const bool is_reversed = flag(arguments, 0, "reverse");
  const bool is_exact = flag(arguments, 1, "case_sensitive");
  const std::optional<Value> path = arguments.find(2, "attribute");
  std::vector<std::pair<Value, Value>> keyed;
  for (const Value& item : iterated(value)) {
    keyed.emplace_back(sort_key(path ? attribute_at(item, *path) : item, is_exact), item);
  }
  std::ranges::stable_sort(keyed, [&](const auto& a, const auto& b) {
    return is_reversed ? is_less(b.first, a.first) : is_less(a.first, b.first);
  });
  std::vector<Value> items;
  for (auto& [key, item] : keyed) items.push_back(std::move(item));
  return Value::list(std::move(items));
}

Value unique(const Value& value, const Arguments& arguments) {
  const bool is_exact = flag(arguments, 0, "case_sensitive");
  std::vector<Value> keys;
  std::vector<Value> items;
  for (const Value& item : iterated(value)) {
    Value key = sort_key(item, is_exact);
    if (std::ranges::find(keys, key) != keys.end()) continue;
    keys.push_back(std::move(key));
    items.push_back(item);
    throw_if<FormatError>(items.size() > 10'000, "unique accepts at most 10000 items");
  }
  return Value::list(std::move(items));
}

Value reversed(const Value& value, const Arguments&) {
  std::vector<Value> items = iterated(value);
  std::ranges::reverse(items);
  if (value.text() == nullptr) return Value::list(std::move(items));
  std::string text;
  for (const Value& item : items) text += *item.text();
  return text;
}

Value replace(const Value& value, const Arguments& arguments) {
  return (*method_of(value.str(), "replace")->function())(arguments);
}

Value indented(const Value& value, const Arguments& arguments) {
  const Value width = arguments.find(0, "width").value_or(Value(std::int64_t{4}));
  const std::string indent =
      width.text() != nullptr ? *width.text() : arithmetic("*", " ", whole_value(width)).str();
  const bool indents_first = flag(arguments, 1, "first");
  const bool indents_blank = flag(arguments, 2, "blank");
  const Arguments at_newline{{Value("\n")}, {}};
  const Value lines = (*method_of(value.str(), "split")->function())(at_newline);
  std::string text;
  for (std::size_t i = 0; i < lines.list()->items.size(); ++i) {
    const std::string& line = *lines.list()->items[i].text();
    if (i > 0) text += '\n';
    if (i == 0 ? indents_first : indents_blank || !line.empty()) text += indent;
    text += line;
    throw_if<FormatError>(text.size() > kMaxTextBytes, "a string must have at most {} bytes",
                          kMaxTextBytes);
  }
  return text;
}

/// Returns the number that a text begins with, as `int(text)` and `float(text)` read it.
template <typename Number> std::optional<Number> parsed(const Value& value) {
  const std::string text = python_strip(value.str());
  const std::string_view digits = std::string_view(text).substr(text.starts_with('+') ? 1 : 0);
  Number number{};
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool is_whole =
      !digits.empty() && result.ec == std::errc() && result.ptr == digits.data() + digits.size();
  return is_whole ? std::optional(number) : std::nullopt;
}

Value to_whole(const Value& value, const Arguments& arguments) {
  const std::optional<double> number =
      value.number() && !value.integer() ? value.number() : std::nullopt;
  if (value.integer()) return *value.integer();
  if (number && std::abs(*number) < 9.0e18) return static_cast<std::int64_t>(*number);
  if (value.text() != nullptr) {
    if (const auto whole = parsed<std::int64_t>(value)) return *whole;
    if (const auto fraction = parsed<double>(value); fraction && std::abs(*fraction) < 9.0e18) {
      return static_cast<std::int64_t>(*fraction);
    }
  }
  return arguments.find(0, "default").value_or(Value(std::int64_t{0}));
}

Value to_fraction(const Value& value, const Arguments& arguments) {
  if (const auto number = value.number()) return *number;
  if (value.text() != nullptr) {
    if (const auto number = parsed<double>(value)) return *number;
  }
  return arguments.find(0, "default").value_or(Value(0.0));
}

Value absolute(const Value& value, const Arguments&) {
  throw_if<FormatError>(!value.number(), "abs of {} is not defined", value.type());
  return *value.number() < 0 ? negated(value) : value;
}

Value summed(const Value& value, const Arguments& arguments) {
  const std::optional<Value> path = arguments.find(0, "attribute");
  Value sum = arguments.find(1, "start").value_or(Value(std::int64_t{0}));
  for (const Value& item : iterated(value)) {
    sum = arithmetic("+", sum, path ? attribute_at(item, *path) : item);
  }
  return sum;
}

template <bool kLargest> Value extreme(const Value& value, const Arguments& arguments) {
  const std::vector<Value> items = sorted(value, {{}, {}}).list()->items;
  static_cast<void>(arguments);
  if (items.empty()) return Undefined{"item"};
  return kLargest ? items.back() : items.front();
}

Value escaped(const Value& value, const Arguments&) {
  std::string text;
  for (const char c : value.str()) {
    text += c == '&'    ? "&amp;"
            : c == '<'  ? "&lt;"
            : c == '>'  ? "&gt;"
            : c == '"'  ? "&#34;"
            : c == '\'' ? "&#39;"
                        : std::string(1, c);
  }
  return text;
}

constexpr auto kFilters = std::to_array<Named<Filter>>({
    {"trim", trim},
    {"length", length},
    {"count", length},
    {"default", or_default},
    {"d", or_default},
    {"join", join},
    {"first", first},
    {"last", last},
    {"tojson", as_json},
    {"map", map},
    {"select", [](const Value& v,
                  const Arguments& arguments) { return selected(v, arguments, false, true); }},
    {"reject", [](const Value& v,
                  const Arguments& arguments) { return selected(v, arguments, false, false); }},
    {"selectattr",
     [](const Value& v, const Arguments& arguments) { return selected(v, arguments, true, true); }},
    {"rejectattr", [](const Value& v,
                      const Arguments& arguments) { return selected(v, arguments, true, false); }},
    {"items", dict_items},
    {"dictsort", dict_sorted},
    {"sort", sorted},
    {"unique", unique},
    {"reverse", reversed},
    {"replace", replace},
    {"indent", indented},
    {"int", to_whole},
    {"float", to_fraction},
    {"abs", absolute},
    {"sum", summed},
    {"min", extreme<false>},
    {"max", extreme<true>},
    {"escape", escaped},
    {"e", escaped},
    {"list", [](const Value& v, const Arguments&) { return Value::list(iterated(v)); }},
    {"string", [](const Value& v, const Arguments&) { return Value(v.str()); }},
    {"safe", [](const Value& v, const Arguments&) { return Value(v.str()); }},
    {"upper", [](const Value& v, const Arguments&) { return Value(uppercase(v.str())); }},
    {"lower", [](const Value& v, const Arguments&) { return Value(lowercase(v.str())); }},
    {"title", [](const Value& v, const Arguments&) { return Value(titled(v.str())); }},
    {"capitalize",
     [](const Value& v, const Arguments&) { return Value(python_capitalize(v.str())); }},
});

}  // namespace

Filter find_filter(std::string_view name) { return find_in(kFilters, name); }
Test find_test(std::string_view name) { return find_in(kTests, name); }

}  // namespace lime::jinja
