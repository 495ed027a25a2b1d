// SPDX-License-Identifier: Apache-2.0
#include "analysis/similarity/similarity_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "analysis/report/map_text.h"
#include "analysis/report/pivot.h"

namespace lime {
namespace {

Column column_of(SimilarityMeasure measure) {
  constexpr std::array<Column, 3> kColumns = {col::kCka, col::kCkaDebiased, col::kProcrustes};
  return kColumns[static_cast<std::size_t>(measure)];
}

std::string what_is_shown(SimilarityMeasure measure) {
  switch (measure) {
    case SimilarityMeasure::kCka:
      return "linear CKA (1: equal up to rotation and scale; biased above 0 with few rows)";
    case SimilarityMeasure::kCkaDebiased:
      return "debiased linear CKA (1: equal up to rotation and scale; 0: unrelated)";
    case SimilarityMeasure::kProcrustes:
      return "Procrustes distance (0: equal up to rotation and scale; 2: unrelated)";
  }
  return "";
}

std::string block_heading(const std::vector<const ResultRow*>& rows) {
  const ResultRow& row = *rows.front();
  const std::string& label = row.text(col::kLabel);
  const std::string& other = row.text(col::kOtherLabel);
  const std::string& site = row.text(col::kSite);
  if (label == other) return fmt::format("{}, {}: layers against layers", label, site);
  return fmt::format("{}: layers of {} (rows) against layers of {} (columns)", site, label, other);
}

/// Whether layers are numbered 0, 1, 2, ..., as the lines of map_to_text() are.
bool counts_from_zero(const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] != std::to_string(i)) return false;
  }
  return true;
}

/// Maps in percent with shades; empty where the layers are not all there.
std::string maps_to_text(const Results& results, const TableLayout& layout,
                         const TextStyle& style) {
  const Pivot pivot = pivot_results(results, layout);
  std::string text;
  for (const PivotBlock& block : pivot.blocks) {
    if (!counts_from_zero(block.lines) || !counts_from_zero(pivot.series)) return "";
    MatrixD map = MatrixD::Constant(static_cast<Eigen::Index>(block.lines.size()),
                                    static_cast<Eigen::Index>(pivot.series.size()), NAN);
    for (Eigen::Index r = 0; r < map.rows(); ++r) {
      for (Eigen::Index c = 0; c < map.cols(); ++c) {
        const ResultRow* const row =
            block.cells[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)];
        if (row != nullptr) map(r, c) = row->number(layout.value);
      }
    }
    text +=
        (text.empty() ? "" : "\n") + block.heading + ", percent\n" + map_to_text(map, false, style);
  }
  return text;
}

}  // namespace

void fill_similarity_report(Report& report, const std::vector<ChosenCapture>& captures,
                            const SimilarityAnalysisOptions& options) {
  report.layout.block = {col::kLabel, col::kOtherLabel, col::kSite};
  report.layout.series = col::kOtherLayer;
  report.layout.value = column_of(options.show);
  report.layout.spread = {};
  report.layout.low = {};
  report.layout.high = {};
  report.layout.ceiling = {};
  report.layout.digits = 2;
  report.layout.heading = [](const std::string&, const std::vector<const ResultRow*>& rows) {
    return block_heading(rows);
  };
  for (const ChosenCapture& capture : captures) {
    const std::int64_t rows = capture.reader.num_rows();
    report.notes.push_back(fmt::format("{}: {} of {} rows, captured by {}", capture.label,
                                       std::min(rows, options.max_rows), rows,
                                       capture.reader.info().tool));
  }
  report.legend = "cells: " + what_is_shown(options.show);
  if (options.show != SimilarityMeasure::kProcrustes && !report.results.rows.empty() &&
      !maps_to_text(report.results, report.layout, {}).empty()) {
    report.text = [layout = report.layout](const Results& shown, const TextStyle& style) {
      return maps_to_text(shown, layout, style);
    };
  }
}

}  // namespace lime
