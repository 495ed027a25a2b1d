// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/matrix.h"
#include "viz/figure_source.h"
#include "viz/recipes/figure_options.h"

// Access to the rows of results in recipes.

namespace lime {

/// A row with its source file.
struct FigureRow {
  const Json* row = nullptr;
  std::size_t source = 0;
  const std::filesystem::path* file = nullptr;

  std::string text(const std::string& key) const;  ///< "" if absent
  bool has(const std::string& key) const;
  /// Returns NaN if absent or null. @throws FormatError  if it is not a number; names file and key.
  double number(const std::string& key) const;
  /// Returns true if there is an integer in [0, limit).
  bool has_index(const std::string& key, int limit) const;
  /// Returns the index of a layer, head or token, in [0, limit).
  /// @throws FormatError  if it is missing or invalid; names file and key.
  int index(const std::string& key, int limit) const;
};

/// Returns a matrix of `rows` x `cols` NaN values, to be filled from `own`.
/// @throws FormatError  before allocation, if the rows are too few for such a matrix.
MatrixD empty_map(const std::vector<FigureRow>& own, int rows, int cols);

/// Returns one more than the largest index under `key`; 1 without rows. @throws FormatError
int count_of(const std::vector<FigureRow>& rows, const std::string& key, int limit);

/// Returns the rows of all sources with the requested sites and labels. @throws InvalidArgument if
/// none is left.
std::vector<FigureRow> rows_of(std::span<const FigureSource> sources, const FigureOptions& options);

/// Returns the rows for which `keep` is true.
std::vector<FigureRow> rows_where(const std::vector<FigureRow>& rows,
                                  const std::function<bool(const FigureRow&)>& keep);

/// Returns the distinct texts under `key`, in order of first appearance.
std::vector<std::string> distinct(const std::vector<FigureRow>& rows, const std::string& key);

/// Converts the requested layers, numbered as on axes, to the numbering of files, from 0.
/// @param there  the layers of the results, from 0. @throws InvalidArgument  if one does not exist.
std::vector<int> layers_asked_for(const FigureOptions& options, const std::set<int>& there);

/// Returns the rows of the requested layers; all if none are requested.
std::vector<FigureRow> rows_of_layers(const std::vector<FigureRow>& rows,
                                      const FigureOptions& options);

}  // namespace lime
