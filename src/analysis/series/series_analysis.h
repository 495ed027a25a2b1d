// SPDX-License-Identifier: Apache-2.0
#pragma once

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
  return names_in_order<SeriesMetric>("drift", "entropy", "geometry", "lens", "attention",
                                      "separability", "experts", "streams");
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

struct ModelStep {
  std::string model;
  std::int64_t step = 0;

  auto operator<=>(const ModelStep&) const = default;
};

/// Splits a name at "step" or "checkpoint" with a number: "llama-step-1000" and "llama_step1000"
/// are step 1000 of "llama". No value without one.
std::optional<ModelStep> split_step(const std::string& name);

/// Value of a measurement at a step, with the ends of its interval; both the value without one.
struct SeriesPoint {
  double value = 0.0;
  double low = 0.0;
  double high = 0.0;
  double step = 0.0;
};

struct Turn {
  std::size_t at = 0;      ///< index of the point
  const char* kind = "";   ///< maximum, minimum or bend
  std::size_t before = 0;  ///< last point before it whose interval is apart from its interval
  std::size_t after = 0;   ///< first such point after it
};

/// Returns the steps at which a curve turns: its minimum and its maximum, each only if a point
/// before it and a point after it have intervals apart from its own, and the other step whose
/// change of slope (per step) is largest in units of its margin, if it exceeds it.
/// @param points  by step
std::vector<Turn> find_turns(std::span<const SeriesPoint> points);

}  // namespace lime
