// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analysis/engine/analysis.h"
#include "core/layer_selection.h"
#include "core/options.h"
#include "metrics/entropy/matrix_entropy.h"
#include "metrics/router/counterfactual_router.h"
#include "metrics/summary.h"

namespace lime {

/// Options of the counterfactual analysis: replacement routers and measures of the routed values.
struct CounterfactualAnalysisOptions {
  std::filesystem::path capture = "capture.h5";  ///< of a routed decoder, all layers of `site`
  /// Capture of the same text by a plain transformer, to split the gap to it.
  std::optional<std::filesystem::path> against;
  std::vector<std::string> label;  ///< of the capture, then of `against`; empty: from the paths
  LayerSelection layer;            ///< layers whose routers are replaced
  /// Mixed input: values or keys, or one of mixed_inputs(); empty: the first that the decoder
  /// mixes.
  std::string site;
  /// Names as Counterfactual::parse() reads them; `cut` alone is every source in turn. Empty: the
  /// default ones. The trained router is always among them.
  std::vector<std::string> router;
  /// Rescales each target head to the norm of its trained weights.
  bool keep_norm = false;
  /// Selects and normalises by weights alone, ignoring the scale of the heads.
  bool bare_weights = false;
  std::int64_t draws = 1;  ///< of each random router, in [1, 10000]; values are averaged over them
  /// lime-code (dimensions standardised over the data set of the routed values) or raw.
  EntropyPreset preset = EntropyPreset::kLimeCode;
  std::vector<double> alpha = {0.5};  ///< orders of the entropy, each > 0
  /// Only the first sequences, > 0; statistics stay those of the whole capture, as in the LIMe
  /// code.
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

/// Prepares the measurement of routed values under counterfactual routers.
///
/// Routing is linear: from a capture of the values of all layers (or of the outputs that the
/// residual stream mixes) and of the weights of each token, if they differ, the routed values under
/// any router follow without the model. Routers are replaced one layer at a time; earlier layers
/// keep their captured values.
///
/// One row per layer, router and quantity (entropy, effective_rank; separability where the capture
/// has classes) with its paired difference to the trained router. With `against` also rows with
/// `part` (projections, mixing, gap) of
///
///   LIMe - LLaMA = [LIMe under the identity - LLaMA] + [LIMe - LIMe under the identity]
///
/// and rows of both kinds for the mean over layers, whose `layer` is null. docs/counterfactual.md.
///
/// Streams: only a block of sequences of one layer's sources is in memory.
/// @throws InvalidArgument  if a capture holds pooled rows, lacks layers or routers, or the two
///                          hold different tokens.
/// @throws IoError, FormatError  as CaptureReader.
Analysis prepare_counterfactual(const CounterfactualAnalysisOptions& options,
                                const RunOptions& run);

}  // namespace lime
