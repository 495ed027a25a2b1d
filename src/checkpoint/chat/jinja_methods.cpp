// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/chat/jinja_methods.h"

#include <algorithm>
#include <array>

#include "checkpoint/chat/jinja_operators.h"
#include "checkpoint/tokenizer/normalizations.h"
#include "checkpoint/tokenizer/python_text.h"
#include "checkpoint/tokenizer/unicode.h"
#include "core/errors.h"

namespace lime::jinja {
namespace {

using Texts = std::vector<std::string>;

std::string text_argument(const Arguments& arguments, std::size_t place, std::string_view name) {
  const std::optional<Value> argument = arguments.find(place, name);
  throw_if<FormatError>(!argument || argument->text() == nullptr, "'{}' must be a string", name);
  return *argument->text();
}

std::optional<std::int64_t> whole_argument(const Arguments& arguments, std::size_t place,
                                           std::string_view name) {
  const std::optional<Value> argument = arguments.find(place, name);
  if (!argument) return std::nullopt;
  throw_if<FormatError>(!argument->integer(), "'{}' must be a whole number", name);
  return argument->integer();
}

Value list_of(Texts texts) {
  return Value::list(
      {std::make_move_iterator(texts.begin()), std::make_move_iterator(texts.end())});
}

/// Returns `text.split(separator, limit)`. @param limit  largest number of cuts; < 0: any
Texts split_at(std::string_view text, std::string_view separator, std::int64_t limit) {
  throw_if<FormatError>(separator.empty(), "'sep' must not be empty");
  Texts parts;
  std::size_t at = 0;
  for (std::int64_t cuts = 0; cuts != limit; ++cuts) {
    const std::size_t found = text.find(separator, at);
    if (found == text.npos) break;
    parts.emplace_back(text.substr(at, found - at));
    at = found + separator.size();
  }
  parts.emplace_back(text.substr(at));
  return parts;
}

/// Returns `text.rsplit(separator, limit)`.
Texts split_at_from_right(std::string_view text, std::string_view separator, std::int64_t limit) {
  throw_if<FormatError>(separator.empty(), "'sep' must not be empty");
  Texts parts;
  for (std::int64_t cuts = 0; cuts != limit; ++cuts) {
    const std::size_t found = text.rfind(separator);
    if (found == text.npos) break;
    parts.emplace_back(text.substr(found + separator.size()));
    text = text.substr(0, found);
  }
  parts.emplace_back(text);
  std::ranges::reverse(parts);
  return parts;
}

/// Returns `text.split(None, limit)`: the words.
Texts split_at_spaces(std::string_view text, std::int64_t limit) {
  Texts words;
  text = stripped(text, StripSides::kLeft);
  while (!text.empty()) {
    if (limit >= 0 && static_cast<std::int64_t>(words.size()) == limit) {
      words.emplace_back(stripped(text, StripSides::kRight));
      break;
    }
    std::size_t end = 0;
    while (end < text.size()) {
      const std::size_t next = character_end(text, end);
      if (stripped(text.substr(end, next - end), StripSides::kBoth).empty()) break;
      end = next;
    }
    words.emplace_back(text.substr(0, end));
    text = stripped(text.substr(end), StripSides::kLeft);
  }
  return words;
}

Value split(const std::string& text, const Arguments& arguments, bool from_right) {
  const std::optional<Value> separator = arguments.find(0, "sep");
  const std::int64_t limit = whole_argument(arguments, 1, "maxsplit").value_or(-1);
  if (!separator || separator->is<None>()) {
    throw_if<FormatError>(from_right && limit >= 0, "rsplit at white space is not supported");
    return list_of(split_at_spaces(text, limit));
  }
  const std::string at = text_argument(arguments, 0, "sep");
  return list_of(from_right ? split_at_from_right(text, at, limit) : split_at(text, at, limit));
}

Value lines_of(const std::string& text) {
  Texts lines = split_at(replaced(text, "\r\n", "\n"), "\n", -1);
  if (lines.back().empty()) lines.pop_back();
  return list_of(std::move(lines));
}

Value strip(const std::string& text, const Arguments& arguments, StripSides sides) {
  const std::optional<Value> characters = arguments.find(0, "chars");
  if (!characters || characters->is<None>()) return std::string(stripped(text, sides));
  return std::string(stripped(text, sides, text_argument(arguments, 0, "chars")));
}

/// Returns whether one of the affixes, a text or a tuple of texts, holds.
template <typename Holds> Value any_affix(const Arguments& arguments, const Holds& holds) {
  const std::optional<Value> affix = arguments.find(0, "prefix");
  if (affix && affix->list() != nullptr) {
    return std::ranges::any_of(affix->list()->items, [&](const Value& item) {
      throw_if<FormatError>(item.text() == nullptr, "a prefix or suffix must be a string");
      return holds(*item.text());
    });
  }
  return static_cast<bool>(holds(text_argument(arguments, 0, "prefix")));
}

Value replace(const std::string& text, const Arguments& arguments) {
  const std::string from = text_argument(arguments, 0, "old");
  const std::string to = text_argument(arguments, 1, "new");
  const std::int64_t limit = whole_argument(arguments, 2, "count").value_or(-1);
  throw_if<FormatError>(from.empty(), "'old' must not be empty");
  const Texts parts = split_at(text, from, limit);
  const std::size_t size = text.size() + parts.size() * to.size();
  throw_if<FormatError>(size > kMaxTextBytes, "a string must have at most {} bytes", kMaxTextBytes);
  std::string result = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) result += to + parts[i];
  return result;
}

/// Returns the number of the character at a byte offset; -1 if there is none.
std::int64_t character_number(const std::string& text, std::size_t offset) {
  if (offset == std::string::npos) return -1;
  return static_cast<std::int64_t>(code_points_in(std::string_view(text).substr(0, offset)));
}

Value join(const std::string& separator, const Arguments& arguments) {
  const std::optional<Value> list = arguments.find(0, "iterable");
  throw_if<FormatError>(!list, "join needs a list");
  std::string result;
  bool is_first = true;
  for (const Value& item : iterated(*list)) {
    throw_if<FormatError>(item.text() == nullptr, "join needs strings, got {}", item.type());
    if (!std::exchange(is_first, false)) result += separator;
    result += *item.text();
  }
  return result;
}

bool is_all_digits(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

using TextMethod = Value (*)(const std::string& text, const Arguments& arguments);

struct NamedTextMethod {
  std::string_view name;
  TextMethod method;
};

constexpr auto kTextMethods = std::to_array<NamedTextMethod>({
    {"strip", [](const std::string& text,
                 const Arguments& arguments) { return strip(text, arguments, StripSides::kBoth); }},
    {"lstrip",
     [](const std::string& text, const Arguments& arguments) {
       return strip(text, arguments, StripSides::kLeft);
     }},
    {"rstrip",
     [](const std::string& text, const Arguments& arguments) {
       return strip(text, arguments, StripSides::kRight);
     }},
    {"split", [](const std::string& text,
                 const Arguments& arguments) { return split(text, arguments, false); }},
    {"rsplit", [](const std::string& text,
                  const Arguments& arguments) { return split(text, arguments, true); }},
    {"splitlines", [](const std::string& text, const Arguments&) { return lines_of(text); }},
    {"upper", [](const std::string& text, const Arguments&) { return Value(uppercase(text)); }},
    {"lower", [](const std::string& text, const Arguments&) { return Value(lowercase(text)); }},
    {"title", [](const std::string& text, const Arguments&) { return Value(titled(text)); }},
    {"capitalize",
     [](const std::string& text, const Arguments&) { return Value(python_capitalize(text)); }},
    {"replace", replace},
    {"join", join},
    {"startswith",
     [](const std::string& text, const Arguments& arguments) {
       return any_affix(arguments, [&](const std::string& affix) { return text.starts_with(affix); });
     }},
    {"endswith",
     [](const std::string& text, const Arguments& arguments) {
       return any_affix(arguments, [&](const std::string& affix) { return text.ends_with(affix); });
     }},
    {"find",
     [](const std::string& text, const Arguments& arguments) {
       return Value(character_number(text, text.find(text_argument(arguments, 0, "sub"))));
     }},
    {"rfind",
     [](const std::string& text, const Arguments& arguments) {
       return Value(character_number(text, text.rfind(text_argument(arguments, 0, "sub"))));
     }},
    {"count",
     [](const std::string& text, const Arguments& arguments) {
       const Texts parts = split_at(text, text_argument(arguments, 0, "sub"), -1);
       return Value(static_cast<std::int64_t>(parts.size()) - 1);
     }},
    {"isdigit",
     [](const std::string& text, const Arguments&) { return Value(is_all_digits(text)); }},
    {"removeprefix",
     [](const std::string& text, const Arguments& arguments) {
       const std::string prefix = text_argument(arguments, 0, "prefix");
       return Value(text.starts_with(prefix) ? text.substr(prefix.size()) : text);
     }},
    {"removesuffix",
     [](const std::string& text, const Arguments& arguments) {
       const std::string suffix = text_argument(arguments, 0, "suffix");
       return Value(text.ends_with(suffix) ? text.substr(0, text.size() - suffix.size()) : text);
     }},
});

std::optional<Value> text_method(const std::string& text, std::string_view name) {
  const auto found = std::ranges::find(kTextMethods, name, &NamedTextMethod::name);
  if (found == kTextMethods.end()) return std::nullopt;
  return Value::function([text, method = found->method](const Arguments& arguments) {
    return method(text, arguments);
  });
}

/// Returns the keys, the values, or pairs of both.
std::vector<Value> entries(const Dict& dict, std::string_view name) {
  std::vector<Value> list;
  for (const auto& [key, value] : dict.items) {
    list.push_back(name == "keys"     ? Value(key)
                   : name == "values" ? value
                                      : Value::list({Value(key), value}, true));
  }
  return list;
}

std::optional<Value> dict_method(const Value& object, std::string_view name) {
  if (name == "keys" || name == "values" || name == "items") {
    const auto list = [object, name = std::string(name)](const Arguments&) {
      return Value::list(entries(*object.dict(), name));
    };
    return Value::function(list, object.extent());
  }
  if (name != "get") return std::nullopt;
  const auto get = [object](const Arguments& arguments) {
    const std::optional<Value> key = arguments.find(0, "key");
    throw_if<FormatError>(!key, "get needs a key");
    const Value* const found = key->text() ? object.dict()->find(*key->text()) : nullptr;
    return found != nullptr ? *found : arguments.find(1, "default").value_or(Value(None{}));
  };
  return Value::function(get, object.extent());
}

std::optional<Value> list_method(const Value& object, std::string_view name) {
  if (name != "index" && name != "count") return std::nullopt;
  const auto method = [object, name = std::string(name)](const Arguments& arguments) {
    const std::optional<Value> item = arguments.find(0, "value");
    throw_if<FormatError>(!item, "{} needs a value", name);
    const auto& items = object.list()->items;
    if (name == "count") return Value(static_cast<std::int64_t>(std::ranges::count(items, *item)));
    const auto found = std::ranges::find(items, *item);
    throw_if<FormatError>(found == items.end(), "the value is not in the list");
    return Value(static_cast<std::int64_t>(found - items.begin()));
  };
  return Value::function(method, object.extent());
}

}  // namespace

std::optional<Value> method_of(const Value& object, std::string_view name) {
  if (object.text() != nullptr) return text_method(*object.text(), name);
  if (object.dict() != nullptr) return dict_method(object, name);
  if (object.list() != nullptr) return list_method(object, name);
  return std::nullopt;
}

std::string titled(std::string_view text) {
  std::string result;
  bool is_in_word = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = character_end(text, at);
    const std::string_view character = text.substr(at, end - at);
    const std::string upper = uppercase(character);
    const std::string lower = lowercase(character);
    result += is_in_word ? lower : upper;
    is_in_word = upper != lower;
    at = end;
  }
  return result;
}

}  // namespace lime::jinja
