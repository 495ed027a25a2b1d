// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/json.h"

namespace lime {

/// Reads the members of one JSON object of a tokenizer's file, with errors that name the place.
/// Keeps references to the object. Thread-safe.
class JsonFields {
 public:
  /// @param where  the place for errors, such as `'tokenizer.json': normalizer`.
  /// @throws FormatError  if `object` is not an object.
  JsonFields(const Json& object, std::string where);

  const std::string& where() const { return where_; }
  /// Returns `where` followed by the member's name.
  std::string place(std::string_view key) const;

  /// Returns null if the member is absent or null.
  const Json* find(std::string_view key) const;
  /// @throws FormatError  if the member is absent or of another type. With a default, an absent
  ///                      or null member has that value.
  const Json& get(std::string_view key) const;
  const Json& array(std::string_view key) const;
  std::string string(std::string_view key) const;
  std::optional<std::string> optional_string(std::string_view key) const;
  bool boolean(std::string_view key, bool absent) const;
  std::int64_t integer(std::string_view key) const;
  std::int64_t integer(std::string_view key, std::int64_t absent) const;

 private:
  const Json& object_;
  std::string where_;
};

/// Returns the string, or the `content` of the object (both forms of added tokens); nothing for any
/// other value.
std::optional<std::string> token_content(const Json& value);

/// Returns a token id: an integer in [0, 2^31 - 2].
/// @throws FormatError  that begins with `where`.
std::int32_t read_token_id(const Json& value, std::string_view where);

}  // namespace lime
