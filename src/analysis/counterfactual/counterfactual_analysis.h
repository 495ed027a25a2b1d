// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analysis/engine/analysis.h"
#include "core/layer_selection.h"
#include "metrics/entropy/matrix_entropy.h"
#include "metrics/router/counterfactual_router.h"
#include "metrics/summary.h"

namespace lime {

struct CounterfactualAnalysisOptions {
  std::filesystem::path capture = "capture.h5";  ///< of a routed decoder, all layers of `site`
  std::optional<std::filesystem::path> against;
  std::vector<std::string> label;  ///< of the capture, then of `against`; empty: from the paths
  LayerSelection layer;            ///< layers whose routers are replaced
  std::string site;
  std::vector<std::string> router;
  bool keep_norm = false;
  bool bare_weights = false;
  std::int64_t draws = 1;  ///< of each random router, in [1, 10000]; values are averaged over them
  EntropyPreset preset = EntropyPreset::kLimeCode;
  std::vector<double> alpha = {0.5};  ///< orders of the entropy, each > 0
  std::optional<std::int64_t> max_sequences;
  int folds = 5;   ///< of the separability, >= 2
  double c = 1.0;  ///< inverse strength of its penalty, > 0
  SummaryOptions summary;

  void describe_inputs(OptionList& list);
  void describe(OptionList& list);
  void validate() const;
  /// Returns the routers that `router` requests for a decoder of `num_sources` layers (or outputs),
  /// the trained one first.
  std::vector<Counterfactual> routers(std::int64_t num_sources, bool depend_on_token = false) const;
};

/// Prepares the measurement of routed values under counterfactual routers (docs/counterfactual.md).
///
/// Routing is linear: from a capture of all sources of a layer, and of the weights of each token if
/// they differ, its routed values under any router follow without the model. Routers are replaced
/// one layer at a time; earlier layers keep their captured values. One row per layer, router and
/// quantity with its paired difference to the trained router, and for the mean over layers.
/// `against` adds rows with `part` (projections, mixing, gap) of
///
///   LIMe - LLaMA = [LIMe under the identity - LLaMA] + [LIMe - LIMe under the identity]
///
/// Streams: only a block of sequences of one layer's sources is in memory.
/// @throws InvalidArgument  if a capture holds pooled rows, lacks layers or routers, or the two
///                          hold different tokens.
Analysis prepare_counterfactual(const CounterfactualAnalysisOptions& options,
                                const RunOptions& run);

}  // namespace lime
