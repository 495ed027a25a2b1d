// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace lime {

/// A list, a matrix or an array of more dimensions.
struct NumberArray {
  std::vector<std::int64_t> shape;  ///< sizes of the dimensions, the outermost first
  std::vector<double> values;       ///< the last dimension varies fastest
  bool is_whole = false;            ///< counts, which are printed without a decimal point
  /// Columns that number the dimensions, e.g. query and key; their rows are elements, in tables a
  /// line each, where NaN is none. Empty: a value of one line, of at most two dimensions.
  std::vector<std::string> axes = {};

  /// Numbers are equal if they are, or if both are NaN.
  bool operator==(const NumberArray& other) const;
};

/// Content of one cell of a row: a value, or none. Immutable, and cheap to copy.
class ResultCell {
 public:
  ResultCell(std::nullptr_t = nullptr) {}
  template <std::same_as<bool> T> ResultCell(T value) : value_(value) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) ResultCell(T value) {
    if (std::in_range<std::int64_t>(value)) {
      value_ = static_cast<std::int64_t>(value);
    } else {
      value_ = static_cast<std::uint64_t>(value);
    }
  }
  ResultCell(double value) : value_(value) {}
  /// Bytes that are not UTF-8 become U+FFFD, as in every file.
  ResultCell(std::string_view text);
  ResultCell(const char* text) : ResultCell(std::string_view(text)) {}
  ResultCell(const std::string& text) : ResultCell(std::string_view(text)) {}
  ResultCell(NumberArray array) : value_(std::make_shared<const NumberArray>(std::move(array))) {}

  bool is_empty() const { return holds<std::monostate>(); }
  bool is_text() const { return holds<std::string>(); }
  bool is_number() const { return is_integer() || holds<double>(); }
  bool is_integer() const { return holds<std::int64_t>() || holds<std::uint64_t>(); }

  /// Returns the text; empty if there is none.
  const std::string& text() const;
  /// Returns the number, whole or not; no value if there is none.
  std::optional<double> number() const;
  std::optional<std::int64_t> integer() const;
  std::optional<bool> boolean() const;
  /// Returns the array; null if there is none.
  const NumberArray* array() const;

  /// Calls `visitor` with the value: std::monostate, bool, std::int64_t, std::uint64_t (beyond the
  /// former), double, std::string or std::shared_ptr<const NumberArray>.
  template <typename F> decltype(auto) visit(F&& visitor) const {
    return std::visit(std::forward<F>(visitor), value_);
  }

  /// Numbers are equal if they are, whole or not, or if both are NaN.
  bool operator==(const ResultCell& other) const;
  std::size_t hash() const;

 private:
  template <typename T> bool holds() const { return std::holds_alternative<T>(value_); }

  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string,
               std::shared_ptr<const NumberArray>>
      value_;
};

/// Returns a cell as people read it: "values", "3", "0.25", "inf"; empty if there is none. Arrays
/// are as in spreadsheets, "0.9; 0.8" and "3 1; 0 4". Numbers have the digits of the JSON files.
std::string cell_text(const ResultCell& cell);

}  // namespace lime
