// SPDX-License-Identifier: Apache-2.0
#include "evaluation/task_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "core/errors.h"
#include "core/utf8.h"

namespace lime {
namespace {

/// Returns the number that the whole text is.
template <typename Number> std::optional<Number> number_of(std::string_view text) {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || last != end) return std::nullopt;
  return number;
}

/// Returns the entry of an object or a list; null if there is none.
const Json* entry_of(const Json& value, std::string_view key) {
  if (value.is_object()) {
    const auto found = value.find(key);
    return found == value.end() ? nullptr : &*found;
  }
  const auto index = number_of<std::size_t>(key);
  return value.is_array() && index && *index < value.size() ? &value[*index] : nullptr;
}

std::string as_text(const Json& value, const TaskDocument& document, std::string_view path) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number()) return value.dump();
  throw FormatError("{}: must have the string '{}'", document.where, printable(path));
}

/// Returns the index of the name that equals the value.
std::optional<std::size_t> named(const Json& value, const Texts& names) {
  Texts spellings = {value.is_string() ? value.get<std::string>() : value.dump()};
  if (value.is_boolean()) spellings.emplace_back(value.get<bool>() ? "True" : "False");
  for (const std::string& text : spellings) {
    const auto found = std::ranges::find(names, text);
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  }
  return std::nullopt;
}

std::optional<std::size_t> index_of(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (value.is_string()) return number_of<std::size_t>(value.get_ref<const std::string&>());
  if (!value.is_number_integer() || value < 0) return std::nullopt;
  return value.get<std::size_t>();
}

}  // namespace

const Json& value_at(const TaskDocument& document, std::string_view path) {
  static const Json none;
  const std::string_view first = path.substr(0, path.find('|'));
  const Json* value = &document.json;
  for (std::size_t begin = 0; value != nullptr && begin <= first.size();) {
    const std::size_t end = std::min(first.find('.', begin), first.size());
    value = entry_of(*value, first.substr(begin, end - begin));
    begin = end + 1;
  }
  if (value != nullptr) return *value;
  return first == path ? none : value_at(document, path.substr(first.size() + 1));
}

std::string text_of(const TaskDocument& document, std::string_view path) {
  return as_text(value_at(document, path), document, path);
}

Texts texts_of(const TaskDocument& document, std::string_view path) {
  const Json& list = value_at(document, path);
  if (!list.is_array()) {
    throw FormatError("{}: must have the list '{}'", document.where, printable(path));
  }
  Texts texts;
  for (const Json& entry : list) texts.push_back(as_text(entry, document, path));
  return texts;
}

std::size_t gold_of(const TaskDocument& document, std::string_view path, const Texts& names,
                    GoldIndex index) {
  const Json& value = value_at(document, path);
  throw_if<FormatError>(value.is_null() || value == "", "{}: has no gold answer ('{}')",
                        document.where, printable(path));
  if (const auto found = named(value, names)) return *found;
  // A text that is none of the names is wrong even if it is a number.
  const bool may_be_index = index == GoldIndex::kAllowed && (names.empty() || !value.is_string());
  const auto gold = may_be_index ? index_of(value) : std::nullopt;
  if (gold) return *gold;
  std::string expected = index == GoldIndex::kAllowed ? "the index of the gold answer" : "";
  if (!names.empty()) {
    expected += fmt::format("{}one of {}", expected.empty() ? "" : " or ", fmt::join(names, ", "));
  }
  throw FormatError("{}: '{}' must be {}, got {}", document.where, printable(path),
                    printable(expected, 200), printable(dump_json(value)));
}

std::string text_or(const Json& object, const char* key, const char* fallback,
                    std::string_view where) {
  const auto found = object.find(key);
  if (found == object.end()) return fallback;
  if (found->is_string()) return found->get<std::string>();
  throw FormatError("{}: '{}' must be a string, got {}", where, key, printable(dump_json(*found)));
}

}  // namespace lime
