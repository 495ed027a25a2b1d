// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/engine/analysis.h"
#include "analysis/similarity/similarity_analysis.h"

namespace lime {

enum class SeriesMetric {
  kDrift,
  kEntropy,
  kGeometry,
  kLens,
  kAttention,
  kSeparability,
  kExperts,
  kStreams
};

constexpr auto names_of(SeriesMetric) {
  using enum SeriesMetric;
  return enum_table<SeriesMetric>({{kDrift, "drift"},
                                   {kEntropy, "entropy"},
                                   {kGeometry, "geometry"},
                                   {kLens, "lens"},
                                   {kAttention, "attention"},
                                   {kSeparability, "separability"},
                                   {kExperts, "experts"},
                                   {kStreams, "streams"}});
}

struct SeriesOptions {
  std::vector<std::filesystem::path> inputs;  ///< captures, and JSON results of any metric
  std::vector<std::int64_t> steps;            ///< of each input; empty: from the names
  std::vector<std::string> model;             ///< model of each input; empty: from the names
  std::vector<SeriesMetric> metric;           ///< of captures; empty: drift and entropy
  /// Options of the drift. Its layers and sites are also those of the other metrics; its captures,
  /// labels and maps are not described.
  SimilarityAnalysisOptions drift;

  void describe_inputs(OptionList& list);
  void describe(OptionList& list);
  void validate() const;
};

/// Prepares curves of measurements over the training steps of each model: one row per model, site,
/// layer, measurement and step; rows of kind `turn` are those of find_turns(). Captures are
/// measured with the default options of each metric, and each layer is compared with itself at the
/// first, the previous and the last step (drift). Rows of results are read.
/// @throws InvalidArgument  if an input has no step, a step of a model is given twice, a model has
///                          fewer than two steps, or its inputs are of different tokens or texts.
Analysis prepare_series(const SeriesOptions& options, const RunOptions& run);

}  // namespace lime
