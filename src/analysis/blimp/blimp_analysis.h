// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/engine/analysis.h"
#include "metrics/probes/probe.h"
#include "metrics/summary.h"

namespace lime {

enum class BlimpBreakdown { kTerm, kField, kTask, kLayer };

constexpr auto names_of(BlimpBreakdown) {
  using enum BlimpBreakdown;
  return enum_table<BlimpBreakdown>(
      {{kTerm, "linguistics_term"}, {kField, "field"}, {kTask, "task"}, {kLayer, "layer"}});
}

struct BlimpOptions {
  CaptureSetOptions captures;
  std::vector<std::string> task = {};
  bool zero_shot = false;
  BlimpBreakdown by = BlimpBreakdown::kTerm;
  int folds = 5;
  ProbeOptions probe;
  bool control = false;
  SummaryOptions summary;
  std::filesystem::path judgements = {};

  void describe_inputs(OptionList& list) { captures.describe_inputs(list); }
  void describe(OptionList& list);
  void validate() const;
};

/// Prepares accuracies on minimal pairs by task, by linguistics_term, by field and over all
/// (docs/blimp.md, docs/numerics.md). Groups are unweighted means over their tasks.
///
/// Probes: one unit per capture, site and layer, with a logistic regression of the pooled rows,
/// good against bad, per task in folds of whole pairs. The samples are the pairs: how many of the
/// two sentences were classified correctly. Zero-shot: one unit per capture; a pair is correct if
/// its good sentence is likelier.
/// @throws InvalidArgument  if a capture contains no pairs, a pair lacks a member, a task has fewer
///                          pairs than folds; probes: if rows are not pooled; zero-shot: if there
///                          are no scores.
Analysis prepare_blimp(const BlimpOptions& options, const RunOptions& run);

}  // namespace lime
