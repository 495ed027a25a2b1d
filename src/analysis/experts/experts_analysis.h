// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "analysis/engine/analysis.h"
#include "metrics/summary.h"

namespace lime {

struct ExpertsOptions {
  CaptureSetOptions captures;  ///< its sites are not described
  std::filesystem::path domains;
  std::filesystem::path effects;  ///< of lime-capture sweep --over experts; empty: none
  double committee = 0.8;
  bool coactivation = false;
  std::int64_t permutations = 200;
  std::int64_t jackknife = 20;
  std::optional<std::int64_t> sequence;  ///< whose tokens get rows of kind `token`
  std::filesystem::path checkpoint;      ///< whose tokenizer decodes them; empty: ids only
  SummaryOptions summary;

  void describe_inputs(OptionList& list) { captures.describe_inputs(list); }
  void describe(OptionList& list);
  void validate() const;
};

/// Prepares the summary of the routers of mixtures of experts, with one unit per capture and layer.
/// docs/experts.md has the measures with their sources, and the kinds of rows: one without a kind
/// per measure, `load` with the fraction of the selections of each expert, `group` with the same of
/// each domain and class, `coactivation`, with `sequence` `token`
/// with the experts of each of its tokens, and with `effects` those of effect_rows().
/// @throws InvalidArgument  if a capture has no numbers of experts or fewer sequences than domains.
Analysis prepare_experts(const ExpertsOptions& options, const RunOptions& run);

}  // namespace lime
