// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analysis/report/table_columns.h"
#include "store/results_file.h"

namespace lime {

/// Selects the columns of a metric's rows for a printed table: a block per site, a line per layer,
/// the captures side by side.
struct TableLayout {
  /// Returns the heading of a block from its rows.
  using Heading = std::function<std::string(const RowPointers& rows)>;

  std::vector<Column> block = {col::kSite};  ///< one block per combination of these columns
  Column line = col::kLayer;
  Column series = col::kLabel;
  Column value = col::kMean;
  Column spread = col::kStd;       ///< printed behind +-; may be none
  Column low = col::kCiLow;        ///< ends of the interval; none: no interval
  Column high = col::kCiHigh;      ///< as low
  Column ceiling = col::kCeiling;  ///< largest possible value, for the bars; none: no bars
  int digits = 3;                  ///< after the decimal point
  Heading heading = nullptr;       ///< empty: block_name()

  void hide_interval() { low = high = {}; }
};

/// Returns the cells of `columns` as one text: "values, rank".
std::string block_name(const ResultRow& row, const std::vector<Column>& columns);

struct PivotBlock {
  std::string heading;
  std::vector<ResultCell> lines;
  std::vector<RowPointers> cells;  ///< [line][series]; null where there is no row
};

struct Pivot {
  std::vector<ResultCell> series;
  std::vector<PivotBlock> blocks;
};

/// Sorts the rows of `results` into blocks, lines and series, in the order in which they first
/// appear; lines that are numbers ascend.
/// @throws InvalidArgument  if two rows fall into the same cell, or a row lacks a column.
Pivot pivot_results(const Results& results, const TableLayout& layout);

/// Returns the pivot as a table of values with spread, interval and ceiling.
Table pivot_table(const Results& results, const TableLayout& layout);

}  // namespace lime
