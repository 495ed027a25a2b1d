// SPDX-License-Identifier: Apache-2.0
#include "store/results/result_row.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "core/errors.h"
#include "core/utf8.h"
#include "store/results/columns.h"

namespace lime {
namespace {

/// Returns the double that "nan", "inf" or "-inf" stands for.
std::optional<double> special_number(const Json& value) {
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

/// Reads "3 1; 0 4" as [[3, 1], [0, 4]]. @return null if it contains something else
Json numbers_of_text(const std::string& text) {
  Json lines = Json::array({Json::array()});
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == ' ') {
      ++at;
    } else if (text[at] == ';') {
      lines.push_back(Json::array());
      ++at;
    } else {
      double value = 0.0;
      const auto read = std::from_chars(text.data() + at, text.data() + text.size(), value);
      if (read.ec != std::errc()) return nullptr;
      lines.back().push_back(value);
      at = static_cast<std::size_t>(read.ptr - text.data());
    }
  }
  return lines;
}

bool is_whole(double value) { return std::abs(value) < 0x1p53 && value == std::floor(value); }

/// Converts what schema 1 stored as text. @return null if it is no list of numbers, or no matrix
Json list_of_text(const std::string& text, CellType type) {
  Json lines = numbers_of_text(text);
  Json numbers = Json::array();
  for (Json& line : lines) {
    if (type == CellType::kNumbers) {
      if (line.size() != 1) return nullptr;
      numbers.push_back(line.front());
      continue;
    }
    for (Json& value : line) {
      if (!is_whole(value.get<double>())) return nullptr;
      value = static_cast<std::int64_t>(value.get<double>());
    }
  }
  return lines.is_null() || type == CellType::kMatrix ? lines : numbers;
}

bool is_array_of_numbers(const Json& cell) {
  return cell.is_array() &&
         std::all_of(cell.begin(), cell.end(), [](const Json& value) { return number_of(value); });
}

bool is_matrix(const Json& cell) {
  return cell.is_array() && std::all_of(cell.begin(), cell.end(), is_array_of_numbers);
}

/// Converts a cell of a file to that of `column`, which is null if it is unknown.
Json cell_of_file(Json value, const Column* column) {
  if (value.is_array()) {
    for (Json& item : value) {
      const auto number = special_number(item);
      item = number ? Json(*number) : cell_of_file(std::move(item), nullptr);
    }
  }
  if (column == nullptr || !value.is_string()) return value;
  if (column->type == CellType::kNumber) {
    if (const auto number = special_number(value)) return *number;
  }
  if (column->type == CellType::kNumbers || column->type == CellType::kMatrix) {
    return list_of_text(value.get_ref<const std::string&>(), column->type);
  }
  return value;
}

std::string number_text(const Json& value) {
  return value.is_number_float() ? fmt::format("{}", value.get<double>()) : value.dump();
}

}  // namespace

Json text_cell_of(std::string_view text) {
  Json value = std::string(text);
  return first_invalid_utf8(text) ? Json::parse(dump_json(value)) : value;
}

Json matrix_cell_of(const Eigen::MatrixXi& matrix) {
  Json rows = Json::array();
  for (const auto& row : matrix.rowwise()) rows.push_back(std::vector<int>(row.begin(), row.end()));
  return rows;
}

ResultRow ResultRow::from_json(const Json& object, std::string_view where) {
  if (!object.is_object()) throw FormatError("{} must be an object", where);
  ResultRow row;
  for (const auto& [name, value] : object.items()) {
    const Column* const column = find_column(name);
    const Json& cell = row.cells_[name] = cell_of_file(value, column);
    if (cell.is_null() && !value.is_null()) {
      throw FormatError("{}.{} must be numbers separated by semicolons, got '{}'", where, name,
                        printable(value.get_ref<const std::string&>()));
    }
    throw_if<FormatError>(
        cell.is_structured() && !is_array_of_numbers(cell) && !is_matrix(cell),
        "{}.{} must be a number, string, true, false, null or an array of numbers", where, name);
  }
  return row;
}

const Json& ResultRow::cell(const Column& column) const {
  static const Json none;
  const auto found = cells_.find(std::string(column.name));
  return found == cells_.end() ? none : *found;
}

const std::string& ResultRow::text(const Column& column) const {
  static const std::string none;
  const Json& found = cell(column);
  return found.is_string() ? found.get_ref<const std::string&>() : none;
}

bool ResultRow::matches(std::initializer_list<Text> texts) const {
  return std::ranges::all_of(texts,
                             [&](const Text& entry) { return text(entry.first) == entry.second; });
}

double ResultRow::number(const Column& column) const {
  const Json& found = cell(column);
  if (const auto number = number_of(found)) return *number;
  if (found.is_null()) throw FormatError("results: a row has no '{}'", column.name);
  throw FormatError("results: '{}' must be a number, got {}", column.name, dump_json(found));
}

std::int64_t ResultRow::integer(const Column& column) const {
  const Json& found = cell(column);
  if (found.is_number_integer()) return found.get<std::int64_t>();
  throw FormatError("results: '{}' must be an integer, got {}", column.name, dump_json(found));
}

std::string ResultRow::shown(const Column& column) const {
  const Json& found = cell(column);
  return found.is_null() ? "" : cell_text(found);
}

std::string ResultRow::dump() const { return dump_json(results_value(cells_)); }

std::vector<const ResultRow*> rows_with(const std::vector<ResultRow>& rows,
                                        std::initializer_list<ResultRow::Text> texts) {
  std::vector<const ResultRow*> chosen;
  for (const ResultRow& row : rows) {
    if (row.matches(texts)) chosen.push_back(&row);
  }
  return chosen;
}

std::optional<double> number_of(const Json& cell) {
  return cell.is_number() ? cell.get<double>() : special_number(cell);
}

Json results_value(const Json& value) {
  // JSON has neither NaN nor infinities, and null would be indistinguishable from an absent value.
  if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    return fmt::format("{}", value.get<double>());
  }
  if (!value.is_structured()) return value;
  Json copy = value;
  for (Json& item : copy) item = results_value(item);
  return copy;
}

std::string cell_text(const Json& cell) {
  if (cell.is_null()) return "";
  if (cell.is_string()) return cell.get<std::string>();
  if (!cell.is_array()) {
    const Json shown = results_value(cell);
    return shown.is_string() ? shown.get<std::string>() : shown.dump();
  }
  std::string text;
  for (const Json& item : cell) {
    if (!text.empty()) text += "; ";
    if (!item.is_array()) text += number_text(item);
    for (std::size_t i = 0; item.is_array() && i < item.size(); ++i) {
      text += (i > 0 ? " " : "") + number_text(item[i]);
    }
  }
  return text;
}

}  // namespace lime
