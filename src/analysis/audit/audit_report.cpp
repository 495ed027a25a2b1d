// SPDX-License-Identifier: Apache-2.0
#include "analysis/audit/audit_report.h"

#include <algorithm>
#include <map>

#include "analysis/audit/audit_changes.h"
#include "analysis/audit/audit_measurements.h"
#include "core/program/suggest.h"

namespace lime {
namespace {

/// Returns the rows of changes: those of no other kind.
RowPointers changes_of(const Results& results) {
  return rows_with(results.rows, {{col::kKind, ""}});
}

/// Rows of a measure of a site, one per variant.
struct MeasureLine {
  std::string quantity;
  std::string measure;
  RowPointers rows = {};

  bool moves() const {
    return std::ranges::any_of(rows, [](const ResultRow* row) { return !is_still(*row); });
  }
};

std::vector<MeasureLine> lines_of(const RowPointers& rows, const std::string& site) {
  std::vector<MeasureLine> lines;
  for (const ResultRow* const row : rows) {
    if (row->text(col::kSite) != site) continue;
    const std::string& quantity = row->text(col::kQuantity);
    const std::string& measure = row->text(col::kMeasure);
    auto found = std::ranges::find_if(lines, [&](const MeasureLine& line) {
      return line.quantity == quantity && line.measure == measure;
    });
    if (found == lines.end()) found = lines.insert(lines.end(), {quantity, measure});
    found->rows.push_back(row);
  }
  return lines;
}

Table table_of(const RowPointers& rows) {
  const std::vector<std::string> variants = distinct(rows, col::kLabel);
  Table table;
  table.columns = {{"measurement", "", Alignment::kLeft}, {"measure", "", Alignment::kLeft}};
  for (const std::string& variant : variants) table.columns.push_back({variant});
  for (const std::string& site : distinct(rows, col::kSite)) {
    TableBlock block{.heading = site};
    for (const MeasureLine& line : lines_of(rows, site)) {
      if (!line.moves()) continue;
      TableLine& shown = block.lines.emplace_back();
      shown.cells = {line.quantity, line.measure};
      for (const std::string& variant : variants) {
        const auto row = std::ranges::find_if(line.rows, [&](const ResultRow* candidate) {
          return candidate->text(col::kLabel) == variant;
        });
        shown.cells.push_back(row == line.rows.end() ? TableCell("") : change_cell(**row));
      }
    }
    if (!block.lines.empty()) table.blocks.push_back(std::move(block));
  }
  return table;
}

/// Returns a line per site and measurement with the measures that no variant moves.
Paragraph still_measures(const RowPointers& rows, AuditOver over) {
  Paragraph paragraph;
  for (const std::string& site : distinct(rows, col::kSite)) {
    std::vector<std::pair<std::string, std::vector<std::string>>> still;
    for (const MeasureLine& line : lines_of(rows, site)) {
      if (line.moves()) continue;
      if (still.empty() || still.back().first != line.quantity)
        still.push_back({line.quantity, {}});
      still.back().second.push_back(line.measure);
    }
    for (const auto& [quantity, measures] : still) {
      paragraph.lines.push_back(fmt::format("{}, {}: {}", site, quantity, join_words(measures)));
    }
  }
  if (paragraph.lines.empty()) return paragraph;
  paragraph.lines.insert(paragraph.lines.begin(), over == AuditOver::kCoordinates
                                                      ? "No transform moves:"
                                                      : "Does not depend on the text:");
  return paragraph;
}

/// Adds a line per measurement and reason for which it is undefined.
void add_undefined(Report& report) {
  std::map<std::string, std::vector<std::string>> variants;  // by measurement and reason
  for (const ResultRow* const row : rows_with(report.results.rows, {{col::kKind, "undefined"}})) {
    std::vector<std::string>& labels = variants[fmt::format(
        "{} is undefined: {}", row->text(col::kQuantity), row->text(col::kText))];
    if (std::ranges::find(labels, row->text(col::kLabel)) == labels.end()) {
      labels.push_back(row->text(col::kLabel));
    }
  }
  for (const auto& [reason, labels] : variants) {
    report.remarks.push_back(fmt::format("{}: {}", join_words(labels), reason));
  }
}

}  // namespace

void fill_audit_report(Report& report, const AuditOptions& options,
                       const std::vector<RefusedTransform>& refused) {
  const AuditOver over = options.over;
  const bool is_texts = over == AuditOver::kTexts;
  report.notes = {
      is_texts ? fmt::format("Change of measurements with length, order and repetition of the "
                             "text, from {} tokens per sequence",
                             options.seq_len)
               : "Change of measurements when the weights change and the function does not"};
  report.notes.emplace_back(
      "cells: largest change over layers and heads, divided by half of the width of the 95% "
      "interval; in % without an interval");
  report.notes.emplace_back(is_texts ? "~: equal"
                                     : "=: invariant by proof; ~: invariant in fact on this text; "
                                       "!: moves against the proof");
  for (const RefusedTransform& transform : refused) {
    report.remarks.push_back(fmt::format("{}: not exact: {}", transform.name, transform.reason));
  }
  add_undefined(report);
  report.parts = [over](const Results& results) -> std::vector<ReportPart> {
    const RowPointers rows = changes_of(results);
    std::vector<ReportPart> parts = {{table_of(rows)}};
    Paragraph still = still_measures(rows, over);
    if (!still.lines.empty()) parts.push_back({std::move(still), ShownIn::kTerminal});
    return parts;
  };
}

}  // namespace lime
