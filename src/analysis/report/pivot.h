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
  std::vector<Column> block = {col::kSite};  ///< one block per combination of these columns
  Column line = col::kLayer;
  Column series = col::kLabel;
  Column value = col::kMean;
  Column spread = col::kStd;       ///< printed behind +-; may be none
  Column low = col::kCiLow;        ///< ends of the interval; none: no interval
  Column high = col::kCiHigh;      ///< as low
  Column ceiling = col::kCeiling;  ///< largest possible value, for the bars; none: no bars
  int digits = 3;                  ///< after the decimal point
  /// Returns the heading of a block from its rows; empty: its name.
  std::function<std::string(const std::string& name, const std::vector<const ResultRow*>& rows)>
      heading = nullptr;
};

/// The rows of one block. Points into its results.
struct PivotBlock {
  std::string heading;
  std::vector<std::string> lines;
  std::vector<std::vector<const ResultRow*>> cells;  ///< [line][series]; null where there is no row
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
