// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report/tables.h"
#include "core/files/atomic_file.h"
#include "core/files/output_lock.h"
#include "core/options.h"
#include "core/program/launcher.h"
#include "store/results_file.h"

namespace lime {

enum class ResultsFormat { kTable, kCsv, kJson, kLatex };

constexpr auto names_of(ResultsFormat) {
  return names_in_order<ResultsFormat>("table", "csv", "json", "latex");
}

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
  /// Prints the main rows of results that fit neither. Neither repeats notes or legend.
  std::function<std::string(const Results&, const TextStyle&)> text = nullptr;
  std::function<std::string(const Results&, const std::vector<std::string>& notes)> latex = nullptr;
  std::vector<Companion> companions = {};
};

/// Returns `report` as text in `format`.
std::string format_report(const Report& report, ResultsFormat format, const TextStyle& style = {});

struct OutputOptions {
  std::optional<ResultsFormat> format;
  std::vector<std::filesystem::path> output;  ///< empty: standard output only
  bool quiet = false;  ///< hides progress and, if files are written, the table

  void describe(OptionList& list);
  void validate() const;
};

/// The output files of one command: opened before the work starts, so that a wrong path does not
/// cost an hour, and under their final names whole or not at all.
class OutputFiles {
 public:
  /// @throws IoError          if a file cannot be written.
  /// @throws InvalidArgument  if an output is one of `inputs`, or another process is writing it.
  OutputFiles(const OutputOptions& options, const std::vector<std::filesystem::path>& inputs,
              const WorkShare& share = {});

  /// Writes `report` to every file, and its companions beside them. @throws IoError
  void write(const Report& report);

 private:
  struct File {
    OutputLock lock;
    std::unique_ptr<AtomicFile> file;
    ResultsFormat format;
  };
  void write_companions(const Report& report);

  std::vector<File> files_;
};

}  // namespace lime
