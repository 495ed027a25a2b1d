// SPDX-License-Identifier: Apache-2.0
#include "analysis/lens/lens_results.h"

#include "analysis/engine/row_summaries.h"

namespace lime {
namespace {

/// Measures of a sequence; all but the last are the stored columns.
constexpr std::array kMeasures = {"kl_to_final", "entropy", "agreement",
                                  "loss",        "rank",    "accuracy"};
static_assert(std::ssize(kMeasures) == kNumLensMeasures);
constexpr std::size_t kAccuracy = kMeasures.size() - 1;

}  // namespace

LensItems::LensItems(std::int64_t count)
    : values(kMeasures.size(), std::vector<double>(static_cast<std::size_t>(count))) {}

void LensItems::set(std::int64_t index, const MatrixD& all) {
  MatrixD rows = all.leftCols(kLensMeasures);  // without the most probable token
  const Eigen::Index rank = rows.cols() - 1;
  Eigen::Index kept = 0;
  for (Eigen::Index r = 0; r < all.rows(); ++r) {
    if (rows(r, rank) != 0.0) rows.row(kept++) = rows.row(r);
  }
  rows.conservativeResize(kept, Eigen::NoChange);
  throw_if(kept == 0,
           "lens: sequence {} has no token left; capture with more --lens-tokens, or omit fewer",
           index);
  const auto at = static_cast<std::size_t>(index);
  for (std::size_t m = 0; m < kAccuracy; ++m) {
    values[m][at] = rows.col(static_cast<Eigen::Index>(m)).mean();
  }
  values[kAccuracy][at] = (rows.col(rank).array() == 1.0).cast<double>().mean();
}

UnitResult lens_result(LensItems items, const SummaryOptions& summary) {
  RowSummaries summaries(summary);
  UnitResult result;
  for (std::size_t m = 0; m < kMeasures.size(); ++m) {
    result.rows.push_back({{col::kMeasure, kMeasures[m]}, {col::kOver, "sequences"}});
    summaries.add_mean(result.rows.back(), m, items.values[m]);
    result.samples.push_back({.key = {{col::kMeasure, kMeasures[m]}},
                              .quantity = kMeasures[m],
                              .items = "sequences",
                              .values = std::move(items.values[m])});
  }
  summaries.fill(result.rows);
  return result;
}

void fill_lens_report(Report& report, const std::vector<std::string>& inputs,
                      const SummaryOptions& summary) {
  report.layout.ceiling = {};
  if (inputs.size() == 1) {
    report.layout.series = col::kMeasure;
  } else {
    report.layout.block = {col::kSite, col::kMeasure};
  }
  report.notes.insert(report.notes.end(), inputs.begin(), inputs.end());
  report.notes.emplace_back(
      "next-token distribution of each layer's residual stream: KL(final || layer) and entropy in "
      "nats,");
  report.notes.emplace_back(
      "same most probable token as the final layer, loss (nats), rank and accuracy of the next "
      "token");
  report.legend = "cells: mean, standard deviation over sequences of their means over tokens" +
                  interval_legend(summary);
}

}  // namespace lime
