// SPDX-License-Identifier: Apache-2.0
#include "store/results/result_cell.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/json.h"
#include "core/utf8.h"

namespace lime {
namespace {

bool are_equal(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

std::size_t combined(std::size_t seed, std::size_t hash) {
  return seed ^ (hash + 0x9e3779b97f4a7c15U + (seed << 6U) + (seed >> 2U));
}

std::size_t hash_of(double value) {
  // Equal numbers have equal hashes: 0.0 and -0.0, every NaN.
  if (std::isnan(value)) return 1;
  return std::hash<double>()(value == 0.0 ? 0.0 : value);
}

/// Returns the digits that JSON files have.
std::string number_text(double value) {
  return std::isfinite(value) ? Json(value).dump() : fmt::format("{}", value);
}

std::string array_text(const NumberArray& array) {
  const bool is_matrix = array.shape.size() > 1;
  const auto line = static_cast<std::size_t>(is_matrix ? array.shape.back() : 1);
  std::string text;
  for (std::size_t i = 0; i < array.values.size(); ++i) {
    if (i > 0) text += i % line == 0 ? "; " : " ";
    text += fmt::format("{}", array.values[i]);
  }
  return text;
}

}  // namespace

bool NumberArray::operator==(const NumberArray& other) const {
  return shape == other.shape && axes == other.axes &&
         std::ranges::equal(values, other.values, are_equal);
}

ResultCell::ResultCell(std::string_view text)
    : value_(first_invalid_utf8(text) ? Json::parse(dump_json(std::string(text))).get<std::string>()
                                      : std::string(text)) {}

const std::string& ResultCell::text() const {
  static const std::string none;
  const auto* const text = std::get_if<std::string>(&value_);
  return text == nullptr ? none : *text;
}

std::optional<double> ResultCell::number() const {
  if (const auto* const value = std::get_if<double>(&value_)) return *value;
  if (const auto* const value = std::get_if<std::int64_t>(&value_)) {
    return static_cast<double>(*value);
  }
  if (const auto* const value = std::get_if<std::uint64_t>(&value_)) {
    return static_cast<double>(*value);
  }
  return std::nullopt;
}

std::optional<std::int64_t> ResultCell::integer() const {
  const auto* const value = std::get_if<std::int64_t>(&value_);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::optional<bool> ResultCell::boolean() const {
  const auto* const value = std::get_if<bool>(&value_);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

const NumberArray* ResultCell::array() const {
  const auto* const array = std::get_if<std::shared_ptr<const NumberArray>>(&value_);
  return array == nullptr ? nullptr : array->get();
}

bool ResultCell::operator==(const ResultCell& other) const {
  if (is_integer() && other.is_integer()) return value_ == other.value_;
  if (is_number() && other.is_number()) return are_equal(*number(), *other.number());
  if (array() != nullptr && other.array() != nullptr) return *array() == *other.array();
  return value_ == other.value_;
}

std::size_t ResultCell::hash() const {
  if (const auto value = number()) return hash_of(*value);
  if (const auto value = boolean()) return *value ? 2 : 3;
  const NumberArray* const numbers = array();
  if (numbers == nullptr) return std::hash<std::string>()(text());
  std::size_t hash = numbers->values.size();
  for (const double value : numbers->values) hash = combined(hash, hash_of(value));
  return hash;
}

std::string cell_text(const ResultCell& cell) {
  if (const NumberArray* const array = cell.array()) return array_text(*array);
  if (const auto value = cell.boolean()) return *value ? "true" : "false";
  if (!cell.is_number()) return cell.text();
  return cell.visit([](const auto& value) -> std::string {
    using T = std::decay_t<decltype(value)>;
    if constexpr (std::same_as<T, double>) return number_text(value);
    if constexpr (std::integral<T>) return fmt::format("{}", value);
    return "";
  });
}

}  // namespace lime
