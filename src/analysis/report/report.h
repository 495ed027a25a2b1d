// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "analysis/report/pivot.h"
#include "analysis/report/report_part.h"
#include "analysis/report/results_format.h"
#include "analysis/report/table_columns.h"
#include "analysis/report/text_printer.h"
#include "store/results_file.h"

namespace lime {

/// A table of its own for rows of one kind, such as comparisons. Others are in the main table.
struct ReportSection {
  std::string kind;
  std::vector<std::string> notes;  ///< lines printed above
  std::vector<TableColumn> columns;
  /// Rows with the same heading are printed together below it.
  std::function<std::string(const ResultRow& row)> heading;
};

/// A file stored next to the results because it does not fit into them, e.g. coordinates or maps.
struct Companion {
  std::string suffix;                                       ///< as companion_of() takes it
  std::vector<ResultsFormat> beside;                        ///< of output files in these formats
  std::function<void(const std::filesystem::path&)> write;  ///< whole or not at all
};

/// Results with all information needed to print them.
struct Report {
  Results results;
  TableLayout layout;
  std::vector<std::string> notes;       ///< lines printed above the table: what it shows
  std::string legend;                   ///< meaning of the cells in the terminal's table
  std::vector<ReportSection> sections;  ///< further tables, below
  std::vector<std::string> remarks;     ///< lines below all tables: warnings
  /// Whether tables (and CSV) show the main rows, or the sections alone. JSON has all rows.
  bool shows_main = true;
  /// One line per main row with these columns, instead of the table of `layout`. Columns that no
  /// row has are omitted.
  std::vector<TableColumn> columns = {};
  /// Returns what is shown of the main rows if they fit neither.
  std::function<std::vector<ReportPart>(const Results& main)> parts = nullptr;
  std::vector<Companion> companions = {};
};

/// Returns `report` as text in `format`.
std::string format_report(const Report& report, ResultsFormat format, const TextStyle& style = {});

}  // namespace lime
