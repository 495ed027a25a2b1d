// SPDX-License-Identifier: Apache-2.0
#include "analysis/attention/attention_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/report/map_text.h"
#include "metrics/attention/attention_profile.h"

namespace lime {
namespace {

/// Maximum number of lines of a printed table with heads; longer tables show layers only.
constexpr std::size_t kMostLines = 80;
/// Patterns beyond which, and tokens beyond which, the terminal shows none.
constexpr std::size_t kMostMaps = 4;
constexpr Eigen::Index kMostMapTokens = 64;
constexpr double kPercent = 100.0;

/// Column heading of a measure, with its scale and digits.
struct MeasureColumn {
  const char* header;
  double scale;
  int digits;
};

constexpr std::array kColumns = {
    MeasureColumn{"entropy", 1.0, 3},         MeasureColumn{"keys", 1.0, 2},
    MeasureColumn{"distance", 1.0, 2},        MeasureColumn{"first %", kPercent, 1},
    MeasureColumn{"previous %", kPercent, 1}, MeasureColumn{"own %", kPercent, 1}};

constexpr const char* kEvenLine = "even";  // kind of the line below the layers of a label

/// Returns "1.234 ± 0.056", the measure `m` of a line; the value of uniform attention in the last.
std::string cell_of(const Results& results, const ResultRow& line, std::size_t m, bool unicode) {
  const bool is_even = line.text(col::kKind) == kEvenLine;
  const auto is_shown = [&](const ResultRow& row) {
    return row.matches(
               {{col::kLabel, line.text(col::kLabel)}, {col::kMeasure, kAttentionMeasures[m]}}) &&
           (is_even || (row.text(col::kKind) == line.text(col::kKind) &&
                        row.cell(col::kLayer) == line.cell(col::kLayer) &&
                        row.cell(col::kHead) == line.cell(col::kHead)));
  };
  const auto row = std::find_if(results.rows.begin(), results.rows.end(), is_shown);
  if (row == results.rows.end()) return "";
  const auto number = [&](const Column& column) {
    return fmt::format("{:.{}f}", kColumns[m].scale * row->number(column), kColumns[m].digits);
  };
  if (is_even) return number(col::kEven);
  return fmt::format("{} {} {}", number(col::kMean), unicode ? "\xC2\xB1" : "+-",
                     number(col::kStd));
}

std::vector<std::string> labels_of(const Results& results) {
  return distinct(rows_with(results.rows, {{col::kKind, "layer"}}), col::kLabel);
}

bool shows_heads(const Results& results) {
  return rows_with(results.rows,
                   {{col::kKind, "head"}, {col::kMeasure, kAttentionMeasures.front()}})
             .size() <= kMostLines;
}

/// Returns a row of each layer and head, and one for uniform attention below those of a label.
std::vector<ResultRow> table_lines(const Results& results) {
  const bool has_heads = shows_heads(results);
  std::vector<ResultRow> lines;
  for (const std::string& label : labels_of(results)) {
    for (const ResultRow* row : rows_with(
             results.rows, {{col::kLabel, label}, {col::kMeasure, kAttentionMeasures.front()}})) {
      // The mean over one head is that head.
      const bool is_shown = row->text(col::kKind) == "head"
                                ? has_heads
                                : !has_heads || row->integer(col::kHeads) != 1;
      if (is_shown) lines.push_back(*row);
    }
    lines.push_back({{col::kLabel, label}, {col::kKind, kEvenLine}});
  }
  return lines;
}

std::vector<TableColumn> attention_columns(const Results& results, bool unicode) {
  std::vector<TableColumn> columns;
  if (labels_of(results).size() > 1) columns.push_back(table_column(col::kLabel));
  columns.push_back({.header = "layer", .cell = [](const ResultRow& row) {
                       return row.has(col::kLayer) ? row.shown(col::kLayer) : kEvenLine;
                     }});
  if (shows_heads(results)) {
    columns.push_back({.header = "head", .cell = [](const ResultRow& row) {
                         return row.text(col::kKind) == "layer" ? "mean" : row.shown(col::kHead);
                       }});
  }
  for (std::size_t m = 0; m < kColumns.size(); ++m) {
    columns.push_back(
        {.header = kColumns[m].header, .cell = [&results, m, unicode](const ResultRow& row) {
           return cell_of(results, row, m, unicode);
         }});
  }
  return columns;
}

/// The patterns of a sequence, by label, layer and head; without those of many tokens.
std::map<std::string, MatrixD> patterns_of(const Results& results) {
  Eigen::Index tokens = 0;
  std::map<std::string, std::vector<const ResultRow*>> weights;
  for (const ResultRow* row : rows_with(results.rows, {{col::kKind, "weight"}})) {
    weights[fmt::format("{}, layer {}, head {}", row->text(col::kLabel), row->integer(col::kLayer),
                        row->integer(col::kHead))]
        .push_back(row);
    tokens = std::max(tokens, row->integer(col::kQuery) + 1);
  }
  std::map<std::string, MatrixD> patterns;
  if (weights.size() > kMostMaps || tokens > kMostMapTokens) return patterns;
  for (const auto& [name, rows] : weights) {
    MatrixD& pattern = patterns[name];
    pattern = MatrixD::Constant(tokens, tokens, std::numeric_limits<double>::quiet_NaN());
    for (const ResultRow* const row : rows) {
      pattern(row->integer(col::kQuery), row->integer(col::kKey)) = row->number(col::kWeight);
    }
  }
  return patterns;
}

std::string attention_text(const Results& results, const TextStyle& style) {
  const std::vector<ResultRow> lines = table_lines(results);
  std::string text =
      columns_to_text(rows_with(lines), attention_columns(results, style.unicode), style);
  for (const auto& [name, pattern] : patterns_of(results)) {
    text +=
        fmt::format("\n{}: percentage of a query's attention (rows: queries, columns: keys)\n{}",
                    name, map_to_text(pattern, false, style));
  }
  return text;
}

}  // namespace

void fill_attention_report(Report& report, const AttentionOptions& options) {
  report.notes = {
      "attention of queries: entropy (nats), its exponential (effective number of keys), mean",
      "distance (tokens back), fractions on the first, the previous and the query token"};
  if (options.skip_queries > 0) {
    report.notes.push_back(fmt::format(
        "first {} of each sequence omitted; even: uniform attention over all keys",
        options.skip_queries == 1 ? "query" : fmt::format("{} queries", options.skip_queries)));
  } else {
    report.notes.emplace_back("even: attention spread over all keys");
  }
  report.legend =
      options.sequence
          ? fmt::format("cells: mean, standard deviation over the queries of sequence {}",
                        *options.sequence)
          : "cells: mean, standard deviation over sequences of their means over queries";
  if (!shows_heads(report.results)) {
    report.notes.emplace_back("means over heads; JSON output and --head show individual heads");
  }
  report.text = attention_text;
  report.latex = [](const Results& all, const std::vector<std::string>& notes) {
    const std::vector<ResultRow> lines = table_lines(all);
    return columns_to_latex(rows_with(lines), attention_columns(all, true), notes);
  };
}

}  // namespace lime
