// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/engine/analysis.h"
#include "analysis/engine/capture_rows.h"
#include "metrics/probes/adam_probe.h"
#include "metrics/probes/folds.h"
#include "metrics/probes/probe.h"
#include "store/capture_reader.h"

namespace lime {

enum class SeparabilityMethod {
  kConverged,  ///< to the optimum of scikit-learn's objective
  kLimeCode,   ///< one epoch of Adam on raw features, as the paper's code
  kBoth,
};

constexpr auto names_of(SeparabilityMethod) {
  using enum SeparabilityMethod;
  return enum_table<SeparabilityMethod>(
      {{kConverged, "converged"}, {kLimeCode, "lime-code"}, {kBoth, "both"}});
}

/// Control that a probe is compared with.
enum class ProbeControl {
  kShuffled,        ///< labels in random order
  kToken,           ///< a random label for each token id (Hewitt & Liang)
  kSequence,        ///< a random label for each sequence
  kRandomFeatures,  ///< the real labels, normal variates in place of the rows
};

constexpr auto names_of(ProbeControl) {
  using enum ProbeControl;
  return enum_table<ProbeControl>({{kShuffled, "shuffled"},
                                   {kToken, "token"},
                                   {kSequence, "sequence"},
                                   {kRandomFeatures, "random-features"}});
}

/// Rows that must be in the same fold.
enum class ProbeGroup { kNone, kSequence };

constexpr auto names_of(ProbeGroup) {
  using enum ProbeGroup;
  return enum_table<ProbeGroup>({{kNone, "none"}, {kSequence, "sequence"}});
}

struct SeparabilityOptions {
  CaptureSetOptions captures;
  std::vector<std::string> words;             ///< classes of the captures; empty: all
  std::optional<std::int64_t> max_per_class;  ///< only the first rows of each class, > 0
  SeparabilityMethod method = SeparabilityMethod::kConverged;
  ProbeOptions probe;  ///< of the converged method
  int folds = 5;       ///< >= 2
  std::uint64_t random_state = 42;
  ProbeGroup group = ProbeGroup::kNone;
  std::vector<ProbeControl> control;

  void describe_inputs(OptionList& list) { captures.describe_inputs(list); }
  void describe(OptionList& list);
  void validate() const;
};

/// Prepares the accuracy with which a linear classifier distinguishes words, layer by layer, with
/// one row per method and labelling: "words" or the name of a control (docs/separability.md). The
/// samples are the folds' accuracies. A layer's rows are kept in memory.
/// @throws InvalidArgument  as make_separability_task().
Analysis prepare_separability(const SeparabilityOptions& options, const RunOptions& run);

struct SeparabilityTask {
  ClassRows rows;              ///< of the capture, those with a class
  std::vector<int> classes;    ///< [rows], numbered without gaps
  std::vector<int> tokens;     ///< [rows], token ids
  std::vector<int> sequences;  ///< [rows]
  int num_classes = 0;
  Folds folds;            ///< of the converged method: stratified, or grouped by sequence
  Folds lime_code_folds;  ///< scikit-learn's KFold as in the LIMe code, or grouped by sequence
};

/// Selects the rows of a capture and assigns them to folds.
/// @throws InvalidArgument  if there are fewer than two classes, fewer rows of one or fewer
///                          sequences than folds, or a control would be the task itself.
SeparabilityTask make_separability_task(const CaptureReader& capture,
                                        const SeparabilityOptions& options);

}  // namespace lime
