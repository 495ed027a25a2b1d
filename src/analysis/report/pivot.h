// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "store/results_file.h"

namespace lime {

/// Selects the columns of a metric's rows for a printed table: a block per site, a line per layer,
/// the captures side by side.
struct TableLayout {
  std::vector<std::string> block = {"site"};  ///< one block per combination of these columns
  std::string line = "layer";
  std::string series = "label";
  std::string value = "mean";
  std::string spread = "std";       ///< printed behind +-; empty: none
  std::string low = "ci_low";       ///< ends of the interval; empty: none
  std::string high = "ci_high";     ///< as low
  std::string ceiling = "ceiling";  ///< largest possible value, for the bars; empty: no bars
  int digits = 3;                   ///< after the decimal point
  /// Returns the heading of a block from its rows; empty: its name.
  std::function<std::string(const std::string& name, const std::vector<const Json*>& rows)>
      heading = nullptr;
};

/// The rows of one block. Points into its results.
struct PivotBlock {
  std::string heading;
  std::vector<std::string> lines;
  std::vector<std::vector<const Json*>> cells;  ///< [line][series]; null where there is no row
};

struct Pivot {
  std::vector<std::string> series;
  std::vector<PivotBlock> blocks;
};

/// Sorts the rows of `results` into blocks, lines and series, in the order in which they first
/// appear; lines that are numbers ascend.
/// @throws InvalidArgument  if two rows fall into the same cell, or a row lacks a column.
Pivot pivot_results(const Results& results, const TableLayout& layout);

}  // namespace lime
