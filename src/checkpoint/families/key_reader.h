// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"

namespace lime {

/// Selects how errors name a key: `where: 'key'`, or `where.key` as in paths of tokenizer.json.
enum class KeyStyle { kQuoted, kDotted };

/// Typed access to the keys of one JSON object; null counts as absent, as in transformers.
///
/// Every member throws FormatError, `KEY must be ..., got ...`, if the value has another type. The
/// object must outlive the reader.
class KeyReader {
 public:
  /// @throws FormatError  if `object` is no JSON object.
  KeyReader(const Json& object, std::string where, KeyStyle style = KeyStyle::kQuoted);

  const std::string& where() const { return where_; }
  /// Returns `where` and a key, as errors name it.
  std::string place(std::string_view key) const;
  /// Returns true even if the value is null.
  bool contains(std::string_view key) const;
  /// Returns the value of `key`, or null if it is absent or null.
  const Json* find(std::string_view key) const;
  /// Returns the keys of the object that no member has been called with, in their order.
  std::vector<std::string> unread() const;

  std::optional<std::int64_t> integer(std::string_view key) const;
  std::optional<double> number(std::string_view key) const;
  /// Returns a number that must be positive, or `otherwise` if it is absent.
  double positive(std::string_view key, double otherwise) const;
  bool boolean(std::string_view key, bool otherwise) const;
  std::optional<std::string> text(std::string_view key) const;
  /// Returns a list of integers, which may be given as one number; empty if absent.
  std::vector<std::int64_t> integers(std::string_view key) const;

  // These also throw FormatError if the key is absent.
  const Json& required(std::string_view key) const;
  const Json& required_array(std::string_view key) const;
  KeyReader required_object(std::string_view key) const;
  std::int64_t required_integer(std::string_view key) const;
  double required_number(std::string_view key) const;
  std::string required_text(std::string_view key) const;

  /// Throws FormatError: `key` must be `expected`, got `got`.
  [[noreturn]] void fail(std::string_view key, std::string_view expected, const Json& got) const;

 private:
  template <typename T>
  std::optional<T> find_as(std::string_view key, bool (Json::*is_type)() const noexcept,
                           std::string_view expected) const;
  std::int64_t to_integer(const Json& value, std::string_view key) const;

  const Json& object_;
  std::string where_;
  KeyStyle style_;
  mutable std::set<std::string, std::less<>> read_;
};

/// Refuses keys that change the computation in a way that no family here has: quantised weights,
/// encoders, cross-attention, bidirectional attention, pruned heads, layers of different sizes.
/// @throws FormatError  that names the key and what to do.
/// @param reads_mxfp4  weights quantised to MXFP4 are read
void refuse_unsupported_keys(const KeyReader& keys, bool reads_mxfp4 = false);

/// Adds one line to `warnings` if the object has keys that nobody has read, that are not null, and
/// that are not in the table of harmless keys: settings of training and generation, provenance.
void warn_of_unknown_keys(const KeyReader& keys, std::vector<std::string>& warnings);

}  // namespace lime
