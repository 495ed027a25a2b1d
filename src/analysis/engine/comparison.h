// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/report/report.h"
#include "core/options.h"
#include "store/results/result_row.h"

namespace lime {

/// Values of one quantity per item (sequence, fold, pair), for paired comparisons of captures.
struct Samples {
  /// Key that distinguishes these samples from others of the unit, e.g. {"alpha": 0.5}. Its fields
  /// become columns of the comparison rows.
  ResultRow key = {};
  std::string quantity;  ///< compared quantity, e.g. "entropy", "accuracy"
  std::string items;     ///< name of the items in the plural: "sequences", "folds"
  /// Identifies the items and their order, e.g. ChosenCapture::identity. Captures are compared only
  /// if it is equal in both. Empty: that of the unit.
  std::string identity = {};
  std::vector<double> values = {};  ///< finite, one per item; the comparison is of their means
};

bool have_same_items(const Samples& first, const Samples& second);

enum class ComparePairs { kNone, kFirst, kAll };

constexpr auto names_of(ComparePairs) {
  using enum ComparePairs;
  return enum_table<ComparePairs>({{kNone, "none"}, {kFirst, "first"}, {kAll, "all"}});
}

/// Dimension that rows are averaged over.
enum class SummaryOver { kNone, kLayers };

constexpr auto names_of(SummaryOver) {
  using enum SummaryOver;
  return enum_table<SummaryOver>({{kNone, "none"}, {kLayers, "layers"}});
}

/// Options that summarise and compare the samples of all units. Every metric has them.
struct CompareOptions {
  ComparePairs compare = ComparePairs::kNone;
  SummaryOver summary = SummaryOver::kNone;
  std::vector<std::string> runs = {};
  std::int64_t resamples = 10000;
  double confidence = 0.95;

  void describe(OptionList& list);
  void validate() const;
};

/// Returns the bytes of the resamples that sample_rows() keeps at once on `threads` threads.
std::int64_t comparison_bytes(const CompareOptions& options, int threads);

/// Checks before any computation that captures can be compared: at least two, with equal items and
/// something in common. @param keys, identities  of all units; identities may be empty.
void check_comparable(std::span<const ResultRow> keys, std::span<const std::string> identities,
                      const CompareOptions& options);

/// Returns the rows that `options` request (kinds: docs/results_format.md): layer_mean, run_mean,
/// run_comparison (summarize_runs(), compare_runs()) and comparison (compare_paired(),
/// holm_adjusted() over the layers).
/// @param all      samples of all units with complete keys (label, site, layer, ...) and identities
/// @throws InvalidArgument  if samples to be compared are not of the same items, there are none, or
///                          no layer is in both captures.
std::vector<ResultRow> sample_rows(std::span<const Samples> all, const CompareOptions& options,
                                   std::uint64_t seed, int threads);

}  // namespace lime
