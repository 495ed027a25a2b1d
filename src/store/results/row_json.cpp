// SPDX-License-Identifier: Apache-2.0
#include "store/results/row_json.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "core/errors.h"
#include "core/utf8.h"
#include "store/results/columns.h"

namespace lime {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
constexpr const char* kAxes = "axes";

/// Returns the double that "nan", "inf" or "-inf" stands for.
std::optional<double> special_number(const Json& value) {
  if (value == "nan") return kMissing;
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

Json number_to_json(double value) {
  // null would be indistinguishable from an absent value.
  if (!std::isfinite(value)) return fmt::format("{}", value);
  return value;
}

/// Returns the numbers of one dimension and those within it. @param at  the next number
Json array_to_json(const NumberArray& array, std::size_t dimension, std::size_t& at) {
  Json items = Json::array();
  for (std::int64_t i = 0; i < array.shape[dimension]; ++i) {
    if (dimension + 1 < array.shape.size()) {
      items.push_back(array_to_json(array, dimension + 1, at));
      continue;
    }
    const double value = array.values[at++];
    if (!array.axes.empty() && std::isnan(value)) {
      items.push_back(nullptr);
    } else if (array.is_whole) {
      items.push_back(static_cast<std::int64_t>(value));
    } else {
      items.push_back(number_to_json(value));
    }
  }
  return items;
}

Json cell_to_json(const ResultCell& cell) {
  return cell.visit([](const auto& value) -> Json {
    using T = std::decay_t<decltype(value)>;
    if constexpr (std::same_as<T, std::monostate>) {
      return nullptr;
    } else if constexpr (std::same_as<T, double>) {
      return number_to_json(value);
    } else if constexpr (std::same_as<T, std::shared_ptr<const NumberArray>>) {
      std::size_t at = 0;
      return array_to_json(*value, 0, at);
    } else {
      return value;
    }
  });
}

bool is_whole(double value) { return std::abs(value) < 0x1p53 && value == std::floor(value); }

/// Appends the numbers of one dimension. @return whether all are, and as many as in its neighbours
bool append_numbers(const Json& items, std::size_t dimension, NumberArray& array) {
  if (dimension == array.shape.size()) {
    array.shape.push_back(std::ssize(items));
  } else if (array.shape[dimension] != std::ssize(items)) {
    return false;
  }
  const std::size_t max_dimensions = array.axes.empty() ? 2 : array.axes.size();
  for (const Json& item : items) {
    if (item.is_array()) {
      const bool follows_number = dimension + 1 == array.shape.size() && !array.values.empty();
      const bool is_too_deep = dimension + 1 == max_dimensions;
      if (follows_number || is_too_deep || !append_numbers(item, dimension + 1, array))
        return false;
      continue;
    }
    const bool is_missing = item.is_null() && !array.axes.empty();
    const auto number = is_missing ? std::optional(kMissing) : number_of(item);
    if (!number || dimension + 1 < array.shape.size()) return false;
    array.is_whole = array.is_whole && item.is_number_integer() && is_whole(*number);
    array.values.push_back(*number);
  }
  return true;
}

std::optional<NumberArray> array_from_json(const Json& items, std::vector<std::string> axes) {
  NumberArray array;
  array.axes = std::move(axes);
  array.is_whole = !items.empty();
  if (!append_numbers(items, 0, array)) return std::nullopt;
  if (array.values.empty()) array.is_whole = false;
  if (!array.axes.empty() && array.shape.size() != array.axes.size()) return std::nullopt;
  return array;
}

/// Reads "3 1; 0 4", as schema 1 stored lists and matrices. @return nothing if it is something else
std::optional<NumberArray> array_from_text(const std::string& text, CellType type) {
  NumberArray array{{1, 0}, {}, type == CellType::kMatrix};
  std::int64_t in_line = 0;
  const auto end_line = [&] {
    if (array.shape[0] == 1) array.shape[1] = in_line;
    return std::exchange(in_line, 0) == array.shape[1];
  };
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == ' ') {
      ++at;
    } else if (text[at] == ';') {
      if (!end_line()) return std::nullopt;
      ++array.shape[0];
      ++at;
    } else {
      double value = 0.0;
      const auto read = std::from_chars(text.data() + at, text.data() + text.size(), value);
      if (read.ec != std::errc() || (array.is_whole && !is_whole(value))) return std::nullopt;
      array.values.push_back(value);
      ++in_line;
      at = static_cast<std::size_t>(read.ptr - text.data());
    }
  }
  if (!end_line()) return std::nullopt;
  if (type == CellType::kMatrix) return array;
  if (array.shape[1] != 1) return std::nullopt;
  array.shape.pop_back();
  return array;
}

/// Converts the value called `name` of a row of a file to a cell.
ResultCell cell_from_json(const Json& value, const std::string& name, std::string_view where) {
  const Column* const column = find_column(name);  // null if it is unknown
  const bool is_list = column != nullptr &&
                       (column->type == CellType::kNumbers || column->type == CellType::kMatrix);
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (is_list) {
      if (auto array = array_from_text(text, column->type)) return std::move(*array);
      throw FormatError("{}.{} must be numbers separated by semicolons, got '{}'", where, name,
                        printable(text));
    }
    const bool is_name = column != nullptr && column->type != CellType::kNumber;
    if (const auto number = special_number(value); number && !is_name) return *number;
    return text;
  }
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_null()) return nullptr;
  if (value.is_array()) {
    if (auto array = array_from_json(value, {})) {
      if (column != nullptr && column->type == CellType::kNumbers) array->is_whole = false;
      return std::move(*array);
    }
  }
  throw FormatError("{}.{} must be a number, string, true, false, null or an array of numbers",
                    where, name);
}

/// Reads the names of the columns that number the dimensions of an array.
std::vector<std::string> axes_from_json(const Json& names, std::string_view where) {
  constexpr std::size_t kMaxAxes = 4;
  std::vector<std::string> axes;
  for (const Json& name : names) {
    if (name.is_string()) axes.push_back(name.get<std::string>());
  }
  const bool are_names = names.is_array() && axes.size() == names.size();
  throw_if<FormatError>(!are_names || axes.empty() || axes.size() > kMaxAxes,
                        "{}.{} must be a list of 1 to {} strings", where, kAxes, kMaxAxes);
  return axes;
}

NumberArray array_over(const std::vector<std::string>& axes, const Json& items,
                       const std::string& name, std::string_view where) {
  if (items.is_array()) {
    if (auto array = array_from_json(items, axes)) return std::move(*array);
  }
  throw FormatError("{}.{} must be an array of numbers with the {} dimensions of '{}'", where, name,
                    axes.size(), kAxes);
}

}  // namespace

Json row_to_json(const ResultRow& row) {
  Json object = Json::object();
  for (const auto& [name, value] : row.cells()) {
    const NumberArray* const array = value.array();
    if (array != nullptr && !array->axes.empty()) object[kAxes] = array->axes;
    object[name] = cell_to_json(value);
  }
  return object;
}

std::string json_text(const ResultRow& row) { return dump_json(row_to_json(row)); }

std::string json_text(const ResultCell& cell) { return dump_json(cell_to_json(cell)); }

ResultRow row_from_json(const Json& object, std::string_view where) {
  if (!object.is_object()) throw FormatError("{} must be an object", where);
  ResultRow row;
  std::vector<std::string> axes;  // of the next cell
  for (const auto& [name, value] : object.items()) {
    if (name == kAxes) {
      axes = axes_from_json(value, where);
      continue;
    }
    if (!axes.empty()) {
      row.set_cell(name, array_over(std::exchange(axes, {}), value, name, where));
      continue;
    }
    row.set_cell(name, cell_from_json(value, name, where));
  }
  throw_if<FormatError>(!axes.empty(), "{}.{} must be followed by an array", where, kAxes);
  return row;
}

std::optional<double> number_of(const Json& value) {
  return value.is_number() ? value.get<double>() : special_number(value);
}

Json results_value(const Json& value) {
  if (value.is_number_float()) return number_to_json(value.get<double>());
  if (!value.is_structured()) return value;
  Json copy = value;
  for (Json& item : copy) item = results_value(item);
  return copy;
}

}  // namespace lime
