// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/chat/jinja_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "checkpoint/tokenizer/python_text.h"
#include "core/errors.h"

namespace lime::jinja {
namespace {

constexpr std::int64_t kMaxIndent = 100;
constexpr int kMaxNesting = 100;

/// Returns `repr(number)`.
std::string number_repr(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", number);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

/// Returns `repr(text)` of Python; characters that are not ASCII stand as they are.
std::string text_repr(const std::string& text) {
  const bool has_single = text.find('\'') != std::string::npos;
  const char quote = has_single && text.find('"') == std::string::npos ? '"' : '\'';
  std::string repr(1, quote);
  for (const char c : text) {
    if (c == quote || c == '\\') {
      repr += '\\';
      repr += c;
    } else if (c == '\n') {
      repr += "\\n";
    } else if (c == '\r') {
      repr += "\\r";
    } else if (c == '\t') {
      repr += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      repr += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      repr += c;
    }
  }
  return repr + quote;
}

std::string repr_of(const Value& value) {
  return value.text() ? text_repr(*value.text()) : value.str();
}

template <typename Items, typename Text>
std::string joined(const Items& items, const Text& text, std::string_view separator) {
  std::string all;
  for (const auto& item : items) {
    if (!all.empty()) all += separator;
    all += text(item);
  }
  return all;
}

std::string list_str(const List& list) {
  const std::string items = joined(list.items, repr_of, ", ");
  if (!list.is_tuple) return "[" + items + "]";
  return "(" + items + (list.items.size() == 1 ? ",)" : ")");
}

std::string dict_str(const Dict& dict) {
  const auto entry = [](const auto& item) {
    return text_repr(item.first) + ": " + repr_of(item.second);
  };
  return "{" + joined(dict.items, entry, ", ") + "}";
}

/// Writes JSON as Python's json module does.
class JsonWriter {
 public:
  JsonWriter(std::optional<std::int64_t> indent, bool sorts_keys)
      : indent_(indent), sorts_keys_(sorts_keys) {}

  std::string text(const Value& value, int depth) const {
    if (const List* const list = value.list()) {
      std::vector<std::string> parts;
      for (const Value& item : list->items) parts.push_back(text(item, depth + 1));
      return enclosed('[', parts, ']', depth);
    }
    if (const Dict* const dict = value.dict()) {
      auto items = dict->items;
      if (sorts_keys_) {
        std::ranges::sort(items, {}, [](const auto& item) { return item.first; });
      }
      std::vector<std::string> parts;
      for (const auto& [key, item] : items) {
        parts.push_back(dump_json(key) + ": " + text(item, depth + 1));
      }
      return enclosed('{', parts, '}', depth);
    }
    return scalar(value);
  }

 private:
  std::string enclosed(char open, const std::vector<std::string>& parts, char close,
                       int depth) const {
    if (parts.empty()) return {open, close};
    if (!indent_) return open + fmt::format("{}", fmt::join(parts, ", ")) + close;
    const auto line = [&](int level) {
      return "\n" + std::string(static_cast<std::size_t>(std::max<std::int64_t>(*indent_, 0)) *
                                    static_cast<std::size_t>(level),
                                ' ');
    };
    const std::string inner = line(depth + 1);
    return open + inner + fmt::format("{}", fmt::join(parts, "," + inner)) + line(depth) + close;
  }

  static std::string scalar(const Value& value) {
    if (value.is<None>()) return "null";
    if (const bool* const truth = value.get_if<bool>()) return *truth ? "true" : "false";
    if (const double* const number = value.get_if<double>()) {
      if (std::isnan(*number)) return "NaN";
      if (std::isinf(*number)) return *number > 0 ? "Infinity" : "-Infinity";
      return number_repr(*number);
    }
    if (const auto number = value.integer()) return std::to_string(*number);
    if (value.text() != nullptr) return dump_json(*value.text());
    throw FormatError("tojson cannot write {}", value.type());
  }

  std::optional<std::int64_t> indent_;
  bool sorts_keys_;
};

}  // namespace

const Value* Dict::find(std::string_view key) const {
  const auto found = std::ranges::find(
      items, key, [](const auto& item) -> std::string_view { return item.first; });
  return found == items.end() ? nullptr : &found->second;
}

void Extent::add(const Extent& item) {
  bytes += item.bytes;
  depth = std::max(depth, item.depth + 1);
  has_namespace = has_namespace || item.has_namespace;
  throw_if<FormatError>(depth > kMaxNesting, "lists and dicts must be nested at most {} deep",
                        kMaxNesting);
  throw_if<FormatError>(bytes > kMaxTextBytes, "a list or dict must have at most {} bytes",
                        kMaxTextBytes);
}

void Namespace::set(std::string_view name, Value value) {
  throw_if<FormatError>(value.extent().has_namespace,
                        "the attribute '{}' of a namespace must not contain a namespace", name);
  for (auto& [key, attribute] : attributes) {
    if (key == name) {
      attribute = std::move(value);
      return;
    }
  }
  attributes.emplace_back(std::string(name), std::move(value));
}

Value Function::operator()(const Arguments& arguments) const { return call(arguments); }

std::optional<Value> Arguments::find(std::size_t place, std::string_view name) const {
  if (place < positional.size()) return positional[place];
  for (const auto& [key, value] : named) {
    if (key == name) return value;
  }
  return std::nullopt;
}

Value Value::list(std::vector<Value> items, bool is_tuple) {
  Extent extent;
  for (const Value& item : items) extent.add(item.extent());
  return std::make_shared<const List>(List{std::move(items), is_tuple, extent});
}

Value Value::dict(std::vector<std::pair<std::string, Value>> items) {
  Extent extent;
  for (const auto& [key, item] : items) {
    extent.bytes += key.size();
    extent.add(item.extent());
  }
  return std::make_shared<const Dict>(Dict{std::move(items), extent});
}

Value Value::function(std::function<Value(const Arguments&)> call, Extent extent) {
  return std::make_shared<const Function>(Function{std::move(call), extent});
}

Value Value::of_json(const Json& json) {
  if (json.is_null()) return None{};
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX) return json.get<double>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  if (json.is_array()) {
    std::vector<Value> items;
    for (const Json& item : json) items.push_back(of_json(item));
    return list(std::move(items));
  }
  std::vector<std::pair<std::string, Value>> items;
  for (const auto& [key, item] : json.items()) items.emplace_back(key, of_json(item));
  return dict(std::move(items));
}

const List* Value::list() const {
  const auto* const held = get_if<std::shared_ptr<const List>>();
  return held == nullptr ? nullptr : held->get();
}

const Dict* Value::dict() const {
  const auto* const held = get_if<std::shared_ptr<const Dict>>();
  return held == nullptr ? nullptr : held->get();
}

Namespace* Value::name_space() const {
  const auto* const held = get_if<std::shared_ptr<Namespace>>();
  return held == nullptr ? nullptr : held->get();
}

const Function* Value::function() const {
  const auto* const held = get_if<std::shared_ptr<const Function>>();
  return held == nullptr ? nullptr : held->get();
}

Extent Value::extent() const {
  Extent extent;
  if (text() != nullptr) extent.bytes = text()->size();
  if (list() != nullptr) extent = list()->extent;
  if (dict() != nullptr) extent = dict()->extent;
  if (function() != nullptr) extent = function()->extent;
  if (name_space() != nullptr) extent.has_namespace = true;
  extent.bytes += sizeof(Value);
  return extent;
}

std::optional<std::int64_t> Value::integer() const {
  if (const bool* const truth = get_if<bool>()) return *truth ? 1 : 0;
  if (const std::int64_t* const number = get_if<std::int64_t>()) return *number;
  return std::nullopt;
}

std::optional<double> Value::number() const {
  if (const double* const number = get_if<double>()) return *number;
  if (const auto whole = integer()) return static_cast<double>(*whole);
  return std::nullopt;
}

bool Value::truth() const {
  if (is<Undefined>() || is<None>()) return false;
  if (const auto value = number()) return *value != 0.0;
  if (text() != nullptr) return !text()->empty();
  if (list() != nullptr) return !list()->items.empty();
  if (dict() != nullptr) return !dict()->items.empty();
  return true;
}

std::string Value::str() const {
  if (is<Undefined>()) return "";
  if (is<None>()) return "None";
  if (const bool* const truth = get_if<bool>()) return *truth ? "True" : "False";
  if (const double* const number = get_if<double>()) return number_repr(*number);
  if (const auto number = integer()) return std::to_string(*number);
  if (text() != nullptr) return *text();
  if (list() != nullptr) return list_str(*list());
  if (dict() != nullptr) return dict_str(*dict());
  throw FormatError("{} cannot be converted to a string", type());
}

std::string_view Value::type() const {
  static constexpr std::string_view kTypes[] = {
      "an undefined value", "None",      "a truth value", "a whole number",
      "a number",           "a text",    "a list",        "a dict",
      "a namespace",        "a function"};
  static_assert(std::size(kTypes) == std::variant_size_v<Content>);
  return kTypes[content_.index()];
}

bool Value::operator==(const Value& other) const {
  if (const auto mine = number(), theirs = other.number(); mine && theirs) {
    if (integer() && other.integer()) return *integer() == *other.integer();
    return *mine == *theirs;
  }
  if (content_.index() != other.content_.index()) return false;
  if (text() != nullptr) return *text() == *other.text();
  if (list() != nullptr) return list()->items == other.list()->items;
  if (dict() != nullptr) {
    return dict()->items.size() == other.dict()->items.size() &&
           std::ranges::all_of(dict()->items, [&](const auto& item) {
             const Value* const found = other.dict()->find(item.first);
             return found != nullptr && *found == item.second;
           });
  }
  if (name_space() != nullptr) return name_space() == other.name_space();
  if (function() != nullptr) return function() == other.function();
  return true;  // None, or both undefined
}

std::string to_json(const Value& value, std::optional<std::int64_t> indent, bool sorts_keys) {
  throw_if<FormatError>(indent.value_or(0) > kMaxIndent, "'indent' must be at most {}", kMaxIndent);
  return JsonWriter(indent, sorts_keys).text(value, 0);
}

std::vector<Value> iterated(const Value& value) {
  if (value.is<Undefined>()) return {};
  if (value.list() != nullptr) return value.list()->items;
  std::vector<Value> items;
  if (value.dict() != nullptr) {
    for (const auto& [key, item] : value.dict()->items) items.emplace_back(key);
    return items;
  }
  if (value.text() == nullptr) throw FormatError("{} cannot be iterated", value.type());
  const std::vector<std::size_t> starts = code_point_starts(*value.text());
  for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
    items.emplace_back(value.text()->substr(starts[i], starts[i + 1] - starts[i]));
  }
  return items;
}

}  // namespace lime::jinja
