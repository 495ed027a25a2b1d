// SPDX-License-Identifier: Apache-2.0
#include "analysis/report/report.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <utility>

#include "analysis/report/latex_printer.h"
#include "analysis/report/map_text.h"
#include "core/program/terminal.h"

namespace lime {
namespace {

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

std::vector<ReportPart> main_parts(const Report& report) {
  const Results main = rows_of(report, false);
  if (report.parts) return report.parts(main);
  if (report.columns.empty()) return {{pivot_table(main, report.layout)}};
  const RowPointers rows = rows_with(main.rows);
  return {{column_table(rows, present_in(rows, report.columns))}};
}

/// Groups the rows of a section by heading, in order of first appearance.
std::vector<ReportPart> section_parts(const Results& results, const ReportSection& section) {
  std::vector<std::pair<std::string, RowPointers>> groups;
  for (const ResultRow& row : results.rows) {
    if (row.text(col::kKind) != section.kind) continue;
    const std::string heading = section.heading(row);
    auto group = std::ranges::find(groups, heading, &std::pair<std::string, RowPointers>::first);
    if (group == groups.end()) group = groups.insert(groups.end(), {heading, {}});
    group->second.push_back(&row);
  }
  std::vector<ReportPart> parts = {{Paragraph{section.notes}}};
  for (const auto& [heading, rows] : groups) {
    Table table = column_table(rows, section.columns);
    table.title = heading;
    table.notes = section.notes;
    parts.push_back({std::move(table)});
  }
  return parts;
}

/// Returns everything that a report shows, top to bottom.
std::vector<ReportPart> all_parts(const Report& report) {
  std::vector<ReportPart> parts;
  if (report.shows_main) parts = main_parts(report);
  for (const ReportSection& section : report.sections) {
    std::ranges::move(section_parts(report.results, section), std::back_inserter(parts));
  }
  return parts;
}

std::string lines_text(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += escaped(line) + "\n";
  return text;
}

std::string part_text(const ReportPart& part, const TextStyle& style) {
  if (const auto* const table = std::get_if<Table>(&part.content)) {
    return table_to_text(*table, style);
  }
  if (const auto* const paragraph = std::get_if<Paragraph>(&part.content)) {
    return lines_text(paragraph->lines);
  }
  const TextMap& map = std::get<TextMap>(part.content);
  const std::string text = map_to_text(map.map, map.is_signed, style);
  return escaped(map.title) + "\n" +
         (text.empty() ? "(too wide for this terminal; see --format csv)\n" : text);
}

std::string text_of_report(const Report& report, const TextStyle& style) {
  std::string text = lines_text(report.notes);
  if (report.shows_main && !report.legend.empty()) text += report.legend + "\n";
  for (const ReportPart& part : all_parts(report)) {
    if (part.shown_in == ShownIn::kPaper) continue;
    text += (text.empty() ? "" : "\n") + part_text(part, style);
  }
  if (!report.remarks.empty()) text += "\n" + lines_text(report.remarks);
  return escaped_lines(text);
}

std::string latex_of_report(const Report& report, const TextStyle&) {
  std::vector<std::string> notes = report.notes;
  notes.insert(notes.end(), report.remarks.begin(), report.remarks.end());
  std::string text;
  for (const ReportPart& part : all_parts(report)) {
    const auto* const table = std::get_if<Table>(&part.content);
    if (table == nullptr || part.shown_in == ShownIn::kTerminal) continue;
    text += table_to_latex(*table, notes);
  }
  return text;
}

std::string csv_of_report(const Report& report, const TextStyle&) {
  return results_to_csv(report.shows_main ? report.results : rows_of(report, true));
}

std::string json_of_report(const Report& report, const TextStyle&) {
  return results_to_json(report.results);
}

/// A format of results: this row, its enumerator and its name are all that is said of it.
struct FormatOfResults {
  ResultsFormat format;
  std::string_view extension;
  std::string (*print)(const Report& report, const TextStyle& style);
};

constexpr std::array kFormats = {FormatOfResults{ResultsFormat::kJson, ".json", json_of_report},
                                 FormatOfResults{ResultsFormat::kCsv, ".csv", csv_of_report},
                                 FormatOfResults{ResultsFormat::kLatex, ".tex", latex_of_report},
                                 FormatOfResults{ResultsFormat::kTable, ".txt", text_of_report}};
static_assert(kFormats.size() == EnumNames<ResultsFormat>::kNames.size());

}  // namespace

std::optional<ResultsFormat> format_of_name(const std::filesystem::path& path) {
  const auto found =
      std::ranges::find(kFormats, path.extension().string(), &FormatOfResults::extension);
  return found == kFormats.end() ? std::nullopt : std::optional(found->format);
}

std::vector<std::string> format_extensions() {
  std::vector<std::string> extensions;
  for (const FormatOfResults& format : kFormats) extensions.emplace_back(format.extension);
  return extensions;
}

std::string format_report(const Report& report, ResultsFormat format, const TextStyle& style) {
  return std::ranges::find(kFormats, format, &FormatOfResults::format)->print(report, style);
}

}  // namespace lime
