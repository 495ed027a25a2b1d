// SPDX-License-Identifier: Apache-2.0
#include "analysis/geometry/geometry_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "analysis/engine/token_sequences.h"

namespace lime {
namespace {

std::string describe_capture(const ChosenCapture& capture, const GeometryAnalysisOptions& options) {
  const std::int64_t count = num_sequences_used(capture.reader, options.max_sequences);
  return fmt::format("{}: {} sequences, {} rows, captured by {}", capture.label, count,
                     capture.reader.offsets()[static_cast<std::size_t>(count)],
                     capture.reader.info().tool);
}

/// "values, rank, over sequences (ceiling 32)"
std::string block_heading(const std::string& name, const std::vector<const ResultRow*>& rows) {
  const ResultRow& row = *rows.front();
  std::string text = fmt::format("{}, over {}", name, row.text(col::kOver));
  if (row.has(col::kCeiling)) text += fmt::format(" (at most {:g})", row.number(col::kCeiling));
  return text;
}

std::int64_t most(const Results& results, const Column& column) {
  std::int64_t largest = 0;
  for (const ResultRow& row : results.rows) {
    if (row.has(column)) largest = std::max(largest, row.integer(column));
  }
  return largest;
}

void add_notes(Report& report, const GeometryAnalysisOptions& options) {
  if (options.wants(GeometryGroup::kRank)) {
    report.notes.push_back(fmt::format("ranks: centering {}, RankMe's epsilon {:g}",
                                       enum_name(options.centering),
                                       rankme_epsilon(options.rankme)));
  }
  if (options.wants(GeometryGroup::kMassive)) {
    report.notes.push_back(fmt::format(
        "massive: magnitude above {:g} and at least {:g} times the median of the sequence",
        options.massive.threshold, options.massive.ratio));
  }
  if (options.wants(GeometryGroup::kDimension)) {
    report.notes.push_back(
        fmt::format("dimension: up to {} rows drawn at random, {} neighbours; at most {} rows per "
                    "layer dropped as duplicates",
                    options.neighbor_rows, options.dimension.num_neighbors,
                    most(report.results, col::kDuplicates)));
  }
  if (options.wants(GeometryGroup::kLidar)) {
    report.notes.emplace_back(
        "lidar_token: LiDAR variant with tokens as classes; not comparable with the values of the "
        "LiDAR paper");
  }
  if (most(report.results, col::kUndefined) > 0) {
    report.notes.emplace_back(
        "nan: undefined (all rows equal, fewer distinct rows than neighbours, or no sequence with "
        "a value); the column undefined counts the omitted sequences");
  }
}

}  // namespace

void fill_geometry_report(Report& report, const std::vector<ChosenCapture>& captures,
                          const GeometryAnalysisOptions& options) {
  report.layout.ceiling = {};
  if (captures.size() == 1) {
    report.layout.block = {col::kSite, col::kGroup, col::kOver};
    report.layout.series = col::kMeasure;
  } else {
    report.layout.block = {col::kSite, col::kGroup, col::kMeasure, col::kOver};
  }
  report.layout.heading = [](const std::string& name, const std::vector<const ResultRow*>& rows) {
    return block_heading(name.substr(0, name.rfind(", ")), rows);
  };
  for (const ChosenCapture& capture : captures) {
    report.notes.push_back(describe_capture(capture, options));
  }
  add_notes(report, options);
  report.legend = "cells: value over all rows, or mean and standard deviation over sequences";
  if (options.summary.resamples > 0) {
    report.legend += fmt::format(", [{:g} % bootstrap interval of the mean]",
                                 options.summary.confidence * 100.0);
  }
  if (options.jackknife > 0) {
    report.legend += fmt::format("; over rows [{:g} % jackknife interval, {} blocks of sequences]",
                                 options.summary.confidence * 100.0, options.jackknife);
  } else if (options.wants(GeometryGroup::kRank) || options.wants(GeometryGroup::kSimilarity) ||
             options.wants(GeometryGroup::kDimension)) {
    report.notes.emplace_back(
        "add --jackknife 10 for intervals and comparisons of values over all rows");
  }
}

}  // namespace lime
