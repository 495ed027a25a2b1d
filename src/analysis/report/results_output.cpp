// SPDX-License-Identifier: Apache-2.0
#include "analysis/report/results_output.h"

#include <cerrno>
#include <fstream>
#include <set>

#include "core/program/terminal.h"
#include "store/file_names.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

std::optional<ResultsFormat> format_of_name(const fs::path& path) {
  const std::string extension = path.extension().string();
  if (extension == ".json") return ResultsFormat::kJson;
  if (extension == ".csv") return ResultsFormat::kCsv;
  if (extension == ".tex") return ResultsFormat::kLatex;
  if (extension == ".txt") return ResultsFormat::kTable;
  return std::nullopt;
}

void write_text(const AtomicFile& file, const std::string& text) {
  errno = 0;
  std::ofstream out(file.temporary(), std::ios::binary | std::ios::trunc);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.close();
  if (!out) {
    throw IoError("'{}': cannot be written: {}", file.path().string(),
                  describe_errno(errno != 0 ? errno : EIO));
  }
}

bool is_in_sections(const Report& report, const ResultRow& row) {
  return std::ranges::find(report.sections, row.text(col::kKind), &ReportSection::kind) !=
         report.sections.end();
}

/// Returns the rows of the metric itself, or those of the sections.
Results rows_of(const Report& report, bool in_sections) {
  Results results = report.results;
  std::erase_if(results.rows,
                [&](const ResultRow& row) { return is_in_sections(report, row) != in_sections; });
  return results;
}

/// Groups the rows of a section by heading, in order of first appearance.
std::vector<std::pair<std::string, RowPointers>> tables_of(const Results& results,
                                                           const ReportSection& section) {
  std::vector<std::pair<std::string, RowPointers>> tables;
  for (const ResultRow& row : results.rows) {
    if (row.text(col::kKind) != section.kind) continue;
    const std::string heading = section.heading(row);
    auto table = std::ranges::find(tables, heading, &std::pair<std::string, RowPointers>::first);
    if (table == tables.end()) table = tables.insert(tables.end(), {heading, {}});
    table->second.push_back(&row);
  }
  return tables;
}

std::string lines(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += escaped(text) + "\n";
  return all;
}

std::string format_table(const Report& report, const TextStyle& style) {
  std::string text = lines(report.notes);
  if (report.shows_main) {
    if (!report.legend.empty()) text += report.legend + "\n";
    if (!text.empty()) text += "\n";
    const Results main = rows_of(report, false);
    const auto rows = rows_with(main.rows);
    text += report.text ? report.text(main, style)
            : !report.columns.empty()
                ? columns_to_text(rows, present_in(rows, report.columns), style)
                : results_to_text(main, report.layout, style);
  }
  for (const ReportSection& section : report.sections) {
    if (!text.empty()) text += "\n";
    text += lines(section.notes);
    for (const auto& [heading, rows] : tables_of(report.results, section)) {
      text += "\n" + escaped(heading) + "\n" + columns_to_text(rows, section.columns, style);
    }
  }
  if (!report.remarks.empty()) text += "\n" + lines(report.remarks);
  return text;
}

std::string format_latex(const Report& report) {
  std::string text;
  std::vector<std::string> all_notes = report.notes;
  all_notes.insert(all_notes.end(), report.remarks.begin(), report.remarks.end());
  if (report.shows_main) {
    const Results main = rows_of(report, false);
    const auto rows = rows_with(main.rows);
    text = report.latex ? report.latex(main, all_notes)
           : !report.columns.empty()
               ? columns_to_latex(rows, present_in(rows, report.columns), all_notes)
               : results_to_latex(main, report.layout, all_notes);
  }
  for (const ReportSection& section : report.sections) {
    std::vector<std::string> notes = all_notes;
    notes.insert(notes.end(), section.notes.begin(), section.notes.end());
    for (const auto& [heading, rows] : tables_of(report.results, section)) {
      notes.push_back(heading);
      text += columns_to_latex(rows, section.columns, notes);
      notes.pop_back();
    }
  }
  return text;
}

}  // namespace

std::string format_report(const Report& report, ResultsFormat format, const TextStyle& style) {
  switch (format) {
    case ResultsFormat::kCsv:
      return report.shows_main ? results_to_csv(report.results)
                               : results_to_csv(rows_of(report, true));
    case ResultsFormat::kJson: return results_to_json(report.results);
    case ResultsFormat::kLatex: return format_latex(report);
    case ResultsFormat::kTable: break;
  }
  return escaped_lines(format_table(report, style));
}

void OutputOptions::describe(OptionList& list) {
  list.group("Output");
  list.add("format", format,
           "output format; default: from the extension of each file (.json, .csv, .tex, .txt), and "
           "a table on standard output");
  list.add("output", output, "output files, written atomically");
  list.add("quiet", quiet, "hide progress and, if files are written, the table");
}

void OutputOptions::validate() const {
  for (auto path = output.begin(); path != output.end(); ++path) {
    throw_if(!format && !format_of_name(*path), OptionName("output"),
             "the name must end in .json, .csv, .tex or .txt, got '{}'; or use --format",
             path->string());
    throw_if(std::find(output.begin(), path, *path) != path, OptionName("output"),
             "'{}' is named twice", path->string());
  }
}

OutputFiles::OutputFiles(const OutputOptions& options, const std::vector<fs::path>& inputs,
                         const WorkShare& share) {
  options.validate();
  for (const fs::path& path : options.output) {
    for (const fs::path& input : inputs) {
      std::error_code ignored;
      throw_if(fs::equivalent(path, input, ignored), OptionName("output"),
               "'{}' is an input and would be overwritten; use another name", path.string());
    }
    files_.push_back({OutputLock(path, share), std::make_unique<AtomicFile>(path),
                      options.format ? *options.format : format_of_name(path).value()});
  }
}

void OutputFiles::write(const Report& report) {
  for (const File& file : files_) write_text(*file.file, format_report(report, file.format));
  write_companions(report);
  for (const File& file : files_) file.file->commit();
}

void OutputFiles::write_companions(const Report& report) {
  std::set<fs::path> written;
  for (const File& file : files_) {
    for (const Companion& companion : report.companions) {
      const auto& beside = companion.beside;
      if (std::ranges::find(beside, file.format) == beside.end()) continue;
      const fs::path path = companion_of(file.file->path(), companion.suffix);
      if (written.insert(path).second) companion.write(path);
    }
  }
}

}  // namespace lime
