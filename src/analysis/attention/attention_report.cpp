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

bool is_kind(const Json& row, const std::string& kind) { return row.value("kind", "") == kind; }

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

/// "1.234 ± 0.056"
std::string cell_of(const Json& row, const MeasureColumn& column, bool unicode) {
  return fmt::format("{:.{}f} {} {:.{}f}", column.scale * results_number(row, "mean"),
                     column.digits, unicode ? "\xC2\xB1" : "+-",
                     column.scale * results_number(row, "std"), column.digits);
}

/// The line of `name` in `layer`, at the end of `lines` if it is not among those of the label.
Json& line_of(std::vector<Json>& lines, const std::string& label, const Json& layer,
              const Json& head) {
  const auto is_same = [&](const Json& line) {
    return line.at("label") == label && line.at("layer") == layer && line.at("head") == head;
  };
  auto line = std::find_if(lines.begin(), lines.end(), is_same);
  if (line == lines.end()) {
    const Json key = {{"label", label}, {"layer", layer}, {"head", head}};
    line = lines.insert(lines.end(), key);
  }
  return *line;
}

/// The measures of a label's layers and heads, a line each.
void add_lines_of(const std::string& label, const Results& results, bool has_heads, bool unicode,
                  std::vector<Json>& lines) {
  std::vector<std::string> even(kColumns.size());
  for (const Json& row : results.rows) {
    const bool is_head = is_kind(row, "head");
    // The mean over one head is that head.
    if (has_heads && row.value("heads", 0) == 1) continue;
    if (row.value("label", "") != label || (!is_kind(row, "layer") && !(is_head && has_heads))) {
      continue;
    }
    const auto found = std::find(kAttentionMeasures.begin(), kAttentionMeasures.end(),
                                 row.at("measure").get<std::string>());
    const auto m = static_cast<std::size_t>(found - kAttentionMeasures.begin());
    const Json head = is_head ? row.at("head") : Json(has_heads ? "mean" : "all");
    line_of(lines, label, row.at("layer"), head)[kColumns[m].header] =
        cell_of(row, kColumns[m], unicode);
    even[m] =
        fmt::format("{:.{}f}", kColumns[m].scale * results_number(row, "even"), kColumns[m].digits);
  }
  Json& last = line_of(lines, label, "even", "");
  for (std::size_t m = 0; m < even.size(); ++m) last[kColumns[m].header] = even[m];
}

std::vector<std::string> labels_of(const Results& results) {
  std::vector<std::string> labels;
  for (const Json& row : results.rows) {
    const std::string label = row.value("label", "");
    const bool is_new = std::find(labels.begin(), labels.end(), label) == labels.end();
    if (is_kind(row, "layer") && is_new) labels.push_back(label);
  }
  return labels;
}

bool shows_heads(const Results& results) {
  const auto is_head_line = [](const Json& row) {
    return is_kind(row, "head") && row.at("measure") == kAttentionMeasures.front();
  };
  return static_cast<std::size_t>(
             std::count_if(results.rows.begin(), results.rows.end(), is_head_line)) <= kMostLines;
}

std::vector<Json> table_lines(const Results& results, bool unicode) {
  std::vector<Json> lines;
  for (const std::string& label : labels_of(results)) {
    add_lines_of(label, results, shows_heads(results), unicode, lines);
  }
  return lines;
}

std::vector<TableColumn> attention_columns(const Results& results) {
  std::vector<TableColumn> columns;
  if (labels_of(results).size() > 1) {
    columns.push_back({.header = "label", .cell = text_cell("label"), .to_the_right = false});
  }
  columns.push_back({.header = "layer", .cell = text_cell("layer")});
  if (shows_heads(results)) columns.push_back({.header = "head", .cell = text_cell("head")});
  for (const MeasureColumn& column : kColumns) {
    columns.push_back({.header = column.header, .cell = text_cell(column.header)});
  }
  return columns;
}

/// The patterns of a sequence, by label, layer and head; without those of many tokens.
std::map<std::string, MatrixD> patterns_of(const Results& results) {
  Eigen::Index tokens = 0;
  std::map<std::string, std::vector<const Json*>> weights;
  for (const Json& row : results.rows) {
    if (!is_kind(row, "weight")) continue;
    weights[fmt::format("{}, layer {}, head {}", row.at("label").get<std::string>(),
                        row.at("layer").get<int>(), row.at("head").get<int>())]
        .push_back(&row);
    tokens = std::max(tokens, row.at("query").get<Eigen::Index>() + 1);
  }
  std::map<std::string, MatrixD> patterns;
  if (weights.size() > kMostMaps || tokens > kMostMapTokens) return patterns;
  for (const auto& [name, rows] : weights) {
    MatrixD& pattern = patterns[name];
    pattern = MatrixD::Constant(tokens, tokens, std::numeric_limits<double>::quiet_NaN());
    for (const Json* const row : rows) {
      pattern(row->at("query").get<Eigen::Index>(), row->at("key").get<Eigen::Index>()) =
          results_number(*row, "weight");
    }
  }
  return patterns;
}

std::string attention_text(const Results& results, const TextStyle& style) {
  const std::vector<Json> lines = table_lines(results, style.unicode);
  std::string text = columns_to_text(pointers_to(lines), attention_columns(results), style);
  for (const auto& [name, pattern] : patterns_of(results)) {
    text +=
        fmt::format("\n{}: percentage of a query's attention (rows: queries, columns: keys)\n{}",
                    name, map_to_text(pattern, false, style));
  }
  return text;
}

}  // namespace

Report make_attention_report(Results results, const AttentionOptions& options) {
  Report report;
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
  if (!shows_heads(results)) {
    report.notes.emplace_back("means over heads; JSON output and --head show individual heads");
  }
  report.results = std::move(results);
  report.text = attention_text;
  report.latex = [](const Results& all, const std::vector<std::string>& notes) {
    const std::vector<Json> lines = table_lines(all, true);
    return columns_to_latex(pointers_to(lines), attention_columns(all), notes);
  };
  return report;
}

}  // namespace lime
