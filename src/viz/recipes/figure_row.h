// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/matrix.h"
#include "store/results/columns.h"
#include "viz/figure_source.h"
#include "viz/recipes/recipe.h"

// Access to the rows of results in recipes.

namespace lime {

struct FigureRow {
  const ResultRow* row = nullptr;
  std::size_t source = 0;
  const std::filesystem::path* file = nullptr;

  const std::string& text(const Column& column) const { return row->text(column); }
  bool has(const Column& column) const { return row->has(column); }
  /// Returns NaN if absent or null. @throws FormatError  if it is not a number; names file and key.
  double number(const Column& column) const;
  /// Returns true if there is an integer in [0, limit).
  bool has_index(const Column& column, int limit) const;
  /// Returns the index of a layer, head or token, in [0, limit).
  /// @throws FormatError  if it is missing or invalid; names file and key.
  int index(const Column& column, int limit) const;
  /// Returns an array over `axes`. @throws FormatError  if it is none; names file and key.
  const NumberArray& array(const NumberColumn& column, std::size_t num_axes) const;
};

using FigureRows = std::vector<FigureRow>;

inline const ResultRow& as_row(const FigureRow& row) { return *row.row; }

/// Returns a number from the options of results; `otherwise` if absent.
double option_number(const FigureSource& source, const char* name, double otherwise);

/// Returns a matrix of `rows` x `cols` NaN values, to be filled from `own`.
/// @param num_values  in the rows; default: one in each
/// @throws FormatError  before allocation, if they are too few for such a matrix.
MatrixD empty_map(const FigureRows& own, int rows, int cols, std::size_t num_values = 0);

/// Returns the array in `column`, its first dimension by the others, as a map of `lines` x
/// `columns`; NaN beyond its ends. @throws FormatError  if it is none, or larger; names file and
/// key.
MatrixD map_of_array(const FigureRow& row, const NumberColumn& column, std::size_t num_axes,
                     int lines, int columns);

/// Returns one more than the largest index in `column`; 1 without rows. @throws FormatError
int count_of(const FigureRows& rows, const Column& column, int limit);

/// Returns the rows of the requested sites and labels. @throws InvalidArgument  if there is none.
FigureRows rows_of(FigureSources sources, const FigureOptions& options);

FigureRows rows_where(const FigureRows& rows, const std::function<bool(const FigureRow&)>& keep);

FigureRows rows_with(const FigureRows& rows, std::initializer_list<ResultRow::Text> texts);

template <typename Range, typename T> bool contains(const Range& range, const T& item) {
  return std::ranges::find(range, item) != range.end();
}

/// Returns true if `requested` is empty or contains `item`.
template <typename T>
bool is_requested(const std::vector<T>& requested, const std::type_identity_t<T>& item) {
  return requested.empty() || contains(requested, item);
}

/// Returns the distinct results of `value_of` over the rows, in order of first appearance.
template <typename F> auto distinct_values(const FigureRows& rows, const F& value_of) {
  std::vector<std::invoke_result_t<F, const FigureRow&>> all;
  for (const FigureRow& row : rows) {
    auto value = value_of(row);
    if (!contains(all, value)) all.push_back(std::move(value));
  }
  return all;
}

template <typename... Columns>
auto distinct_texts(const FigureRows& rows, const Columns&... columns) {
  return distinct_values(rows, [&](const FigureRow& row) {
    return std::array<std::string, sizeof...(Columns)>{row.text(columns)...};
  });
}

/// Converts the layers or heads in `requested`, numbered from `base`, to the numbering of files,
/// from 0.
/// @param available  those of the results, from 0.
/// @throws InvalidArgument that starts with `option`, "layer" or "head", if one does not exist.
std::vector<int> selected_numbers(const std::string& option, const std::vector<int>& requested,
                                  int base, const std::set<int>& available);
std::vector<int> selected_layers(const FigureOptions& options, const std::set<int>& available);

/// Returns the same, or without requested layers at most `most` >= 1, evenly spaced.
std::vector<int> layers_to_draw(const FigureOptions& options, const std::set<int>& available,
                                std::size_t most);

/// Returns the rows of the requested layers; all if none are requested.
FigureRows rows_of_layers(const FigureRows& rows, const FigureOptions& options);

}  // namespace lime
