// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tokenizer/json_fields.h"

#include <limits>
#include <utility>

#include "core/errors.h"
#include "core/utf8.h"

namespace lime {
namespace {

std::string shown(const Json& value) { return printable(value.dump(), 60); }

[[noreturn]] void refuse(const std::string& place, std::string_view kind, const Json& value) {
  throw FormatError("{} must be {}, got {}", place, kind, shown(value));
}

}  // namespace

JsonFields::JsonFields(const Json& object, std::string where)
    : object_(object), where_(std::move(where)) {
  if (!object.is_object()) refuse(where_, "an object", object);
}

std::string JsonFields::place(std::string_view key) const {
  return fmt::format("{}.{}", where_, key);
}

const Json* JsonFields::find(std::string_view key) const {
  const auto member = object_.find(std::string(key));
  return member == object_.end() || member->is_null() ? nullptr : &*member;
}

const Json& JsonFields::get(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) throw FormatError("{} is missing", place(key));
  return *value;
}

const Json& JsonFields::array(std::string_view key) const {
  const Json& value = get(key);
  if (!value.is_array()) refuse(place(key), "an array", value);
  return value;
}

std::string JsonFields::string(std::string_view key) const {
  const Json& value = get(key);
  if (!value.is_string()) refuse(place(key), "a string", value);
  return value.get<std::string>();
}

std::optional<std::string> JsonFields::optional_string(std::string_view key) const {
  if (find(key) == nullptr) return std::nullopt;
  return string(key);
}

bool JsonFields::boolean(std::string_view key, bool absent) const {
  const Json* value = find(key);
  if (value == nullptr) return absent;
  if (!value->is_boolean()) refuse(place(key), "true or false", *value);
  return value->get<bool>();
}

std::int64_t JsonFields::integer(std::string_view key) const {
  const Json& value = get(key);
  const bool too_large = value.is_number_unsigned() &&
                         value.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max();
  if (!value.is_number_integer() || too_large) refuse(place(key), "an integer", value);
  return value.get<std::int64_t>();
}

std::int64_t JsonFields::integer(std::string_view key, std::int64_t absent) const {
  return find(key) == nullptr ? absent : integer(key);
}

std::optional<std::string> token_content(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_object()) return std::nullopt;
  const auto content = value.find("content");
  if (content == value.end() || !content->is_string()) return std::nullopt;
  return content->get<std::string>();
}

std::int32_t read_token_id(const Json& value, std::string_view where) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max() - 1;
  const bool too_large = value.is_number_unsigned() && value.get<std::uint64_t>() > kLargest;
  if (!value.is_number_integer() || too_large || value.get<std::int64_t>() < 0) {
    throw FormatError("{} must be an integer in [0, {}], got {}", where, kLargest, shown(value));
  }
  return value.get<std::int32_t>();
}

}  // namespace lime
