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

// How recipes read the rows of results.

namespace lime {

/// A row with the file that it comes from.
struct FigureRow {
  const Json* row = nullptr;
  std::size_t source = 0;
  const std::filesystem::path* file = nullptr;

  std::string text(const std::string& key) const;  ///< "" if absent
  bool has(const std::string& key) const;
  /// NaN if absent or null. @throws FormatError  if it is no number; names file and key.
  double number(const std::string& key) const;
  /// Whether there is a whole number in [0, limit).
  bool has_index(const std::string& key, int limit) const;
  /// The whole number in [0, limit) that numbers a layer, head or token.
  /// @throws FormatError  if there is none; names file and key.
  int index(const std::string& key, int limit) const;
};

/// A map of `rows` x `cols` cells, all of them NaN, which are filled from `own`.
/// @throws FormatError  before anything is allocated, if so few rows cannot be those of such a map.
MatrixD empty_map(const std::vector<FigureRow>& own, int rows, int cols);

/// One more than the largest index under `key`; 1 if there is no row. @throws FormatError
int count_of(const std::vector<FigureRow>& rows, const std::string& key, int limit);

/// Rows of all sources, of the sites and labels asked for. @throws InvalidArgument if none is left.
std::vector<FigureRow> rows_of(std::span<const FigureSource> sources, const FigureOptions& options);

/// Rows of which `keep` is true.
std::vector<FigureRow> rows_where(const std::vector<FigureRow>& rows,
                                  const std::function<bool(const FigureRow&)>& keep);

/// The different texts under `key`, in the order of their first appearance.
std::vector<std::string> distinct(const std::vector<FigureRow>& rows, const std::string& key);

/// The layers asked for as files number them, from 0; `options` number them as axes do.
/// @param there  the layers of the results, from 0. @throws InvalidArgument  if one is not there.
std::vector<int> layers_asked_for(const FigureOptions& options, const std::set<int>& there);

/// Rows of the layers asked for; all if none are.
std::vector<FigureRow> rows_of_layers(const std::vector<FigureRow>& rows,
                                      const FigureOptions& options);

}  // namespace lime
