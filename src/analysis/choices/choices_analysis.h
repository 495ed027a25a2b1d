// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/engine/analysis.h"

namespace lime {

enum class ChoicesPreset {
  kLmEval,     ///< as lm-evaluation-harness
  kLimePaper,  ///< the same; the standard error counts runs as further items
  kCorrected,  ///< MultiRC with the correct label; standard errors over clusters of items
};

constexpr auto names_of(ChoicesPreset) {
  using enum ChoicesPreset;
  return enum_table<ChoicesPreset>(
      {{kLmEval, "lm-eval"}, {kLimePaper, "lime-paper"}, {kCorrected, "corrected"}});
}

struct ChoicesOptions {
  std::vector<std::filesystem::path> samples;
  std::vector<std::string> label;
  std::vector<std::string> task;  ///< empty: all
  ChoicesPreset preset = ChoicesPreset::kLmEval;
  double confidence = 0.95;  ///< of the intervals, in (0, 1)

  void describe_inputs(OptionList& list);
  void describe(OptionList& list);
  void validate() const;
};

/// Prepares accuracies of models on benchmarks, per task and in the mean over tasks, with standard
/// errors and exact tests between models (docs/evaluation.md): one row per model, task and measure,
/// per filter of generated text, and per layer of lime-eval. Files with the same label that repeat
/// a task are runs of one model: values are means over runs, item by item.
/// @throws IoError, FormatError  as read_samples_file(); InvalidArgument  if runs have other items
/// or another tokenizer.
Analysis prepare_choices(const ChoicesOptions& options, const RunOptions& run);

}  // namespace lime
