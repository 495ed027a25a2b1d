// SPDX-License-Identifier: Apache-2.0
#include "viz/recipes/figure_row.h"

#include <iterator>

#include "core/program/suggest.h"
#include "store/results/matrix_rows.h"
#include "store/results/row_json.h"

namespace lime {
namespace {

std::string shown_value(const ResultCell& cell) { return fmt::format("{:.40}", json_text(cell)); }

void check_there(const char* option, const std::vector<std::string>& requested,
                 const std::vector<std::string>& available) {
  for (const std::string& item : requested) {
    if (contains(available, item)) continue;
    throw InvalidArgument("{0}: the results contain no {0} '{1}' (available: {2})", option, item,
                          join_words(available));
  }
}

}  // namespace

double FigureRow::number(const Column& column) const {
  const ResultCell& cell = row->cell(column);
  if (cell.is_empty()) return std::numeric_limits<double>::quiet_NaN();
  if (const auto number = cell.number()) return *number;
  throw FormatError("figure: '{}': '{}' must be a number, got {}", file->string(), column.name,
                    shown_value(cell));
}

bool FigureRow::has_index(const Column& column, int limit) const {
  const double value = row->cell(column).number().value_or(-1.0);
  return value >= 0.0 && value < limit && value == std::floor(value);
}

int FigureRow::index(const Column& column, int limit) const {
  if (has_index(column, limit)) return static_cast<int>(number(column));
  throw FormatError("figure: '{}': '{}' must be a whole number from 0 to {}, got {}",
                    file->string(), column.name, limit - 1,
                    row->contains(column) ? shown_value(row->cell(column)) : "none");
}

const NumberArray& FigureRow::array(const NumberColumn& column, std::size_t num_axes) const {
  const NumberArray* const array = row->cell(column).array();
  if (array != nullptr && array->axes.size() == num_axes && !array->values.empty()) return *array;
  throw FormatError("figure: '{}': '{}' must be an array of {} dimensions with axes, got {}",
                    file->string(), column.name, num_axes,
                    row->contains(column) ? shown_value(row->cell(column)) : "none");
}

double option_number(const FigureSource& source, const char* name, double otherwise) {
  const Json& options = source.results.options;
  const auto given = options.find(name);
  return given != options.end() && given->is_number() ? given->get<double>() : otherwise;
}

MatrixD empty_map(const FigureRows& own, int rows, int cols, std::size_t num_values) {
  if (num_values == 0) num_values = own.size();
  // A triangle of layers or tokens fills half of its heatmap; one line only a small part.
  constexpr std::size_t kMaxCellsPerRow = 512;
  if (static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols) >
      kMaxCellsPerRow * num_values) {
    throw FormatError(
        "figure: '{}': a map of {} x {} cells is too large for {} values; the results are damaged",
        own.empty() ? "" : own.front().file->string(), rows, cols, num_values);
  }
  return MatrixD::Constant(rows, cols, std::numeric_limits<double>::quiet_NaN());
}

MatrixD map_of_array(const FigureRow& row, const NumberColumn& column, std::size_t num_axes,
                     int lines, int columns) {
  const NumberArray& array = row.array(column, num_axes);
  // A list is a line.
  const MatrixD values = num_axes == 1 ? MatrixD(matrix_of(array).transpose()) : matrix_of(array);
  throw_if<FormatError>(
      values.rows() > lines || values.cols() > columns,
      "figure: '{}': '{}' must be an array of at most {} x {} numbers, got {} x {}",
      row.file->string(), column.name, lines, columns, values.rows(), values.cols());
  MatrixD map = empty_map({row}, lines, columns, array.values.size());
  map.topLeftCorner(values.rows(), values.cols()) = values;
  return map;
}

int count_of(const FigureRows& rows, const Column& column, int limit) {
  int largest = 0;
  for (const FigureRow& row : rows) largest = std::max(largest, row.index(column, limit));
  return largest + 1;
}

FigureRows rows_of(FigureSources sources, const FigureOptions& options) {
  FigureRows all;
  for (std::size_t s = 0; s < sources.size(); ++s) {
    for (const ResultRow& row : sources[s].results.rows) all.push_back({&row, s, &sources[s].path});
  }
  check_there("site", options.site, distinct(all, col::kSite));
  check_there("label", options.label, distinct(all, col::kLabel));
  FigureRows selected = rows_where(all, [&](const FigureRow& row) {
    return is_requested(options.site, row.text(col::kSite)) &&
           is_requested(options.label, row.text(col::kLabel));
  });
  throw_if(selected.empty(), "figure: no row has both site {} and label {}",
           fmt::join(options.site, ","), fmt::join(options.label, ","));
  return selected;
}

FigureRows rows_where(const FigureRows& rows, const std::function<bool(const FigureRow&)>& keep) {
  FigureRows kept;
  std::ranges::copy_if(rows, std::back_inserter(kept), keep);
  return kept;
}

FigureRows rows_with(const FigureRows& rows, std::initializer_list<ResultRow::Text> texts) {
  return rows_where(rows, [&](const FigureRow& row) { return row.row->matches(texts); });
}

std::vector<int> selected_numbers(const std::string& option, const std::vector<int>& requested,
                                  int base, const std::set<int>& available) {
  std::vector<int> shown;
  for (const int number : available) shown.push_back(number + base);
  std::vector<int> selected;
  for (const int number : requested) {
    throw_if(!contains(shown, number), "{0}: the results contain no {0} {1} (their {0}s: {2})",
             option, number, fmt::join(shown, ", "));
    selected.push_back(number - base);
  }
  return selected;
}

std::vector<int> selected_layers(const FigureOptions& options, const std::set<int>& available) {
  return selected_numbers("layer", options.layer, options.layer_base, available);
}

std::vector<int> layers_to_draw(const FigureOptions& options, const std::set<int>& available,
                                std::size_t most) {
  if (!options.layer.empty()) return selected_layers(options, available);
  const std::vector<int> all(available.begin(), available.end());
  if (all.size() <= most) return all;
  std::vector<int> some;
  if (most == 1) return {all.back()};
  for (std::size_t i = 0; i < most; ++i) some.push_back(all[i * (all.size() - 1) / (most - 1)]);
  return some;
}

FigureRows rows_of_layers(const FigureRows& rows, const FigureOptions& options) {
  if (options.layer.empty()) return rows;
  std::set<int> available;
  for (const FigureRow& row : rows) available.insert(row.index(col::kLayer, kMaxLayers));
  const std::vector<int> selected = selected_layers(options, available);
  return rows_where(rows, [&](const FigureRow& row) {
    return contains(selected, row.index(col::kLayer, kMaxLayers));
  });
}

}  // namespace lime
