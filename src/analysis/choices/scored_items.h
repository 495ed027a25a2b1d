// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to the analysis of choices: the items of a task and their measures.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analysis/choices/choices_analysis.h"
#include "store/samples_file.h"

namespace lime {

/// Answers of one model to a task, in one or several runs.
struct AnsweredTask {
  std::string label;
  std::string name;
  std::string filter;            ///< of generated text: strict-match; else empty
  std::vector<std::string> ids;  ///< identity of each item: doc_id, gold and choices
  /// Of each item of MultiRC with the preset `corrected`; else empty.
  std::vector<MultircQuestion> questions;
  std::vector<std::vector<EvalSample>> runs;  ///< [run][item], without prompts
};

/// Values of a measure, one per item, averaged over runs.
struct MeasuredValues {
  std::string name;  ///< "acc"
  std::vector<double> values;
  bool is_accuracy = true;                 ///< each is 0 or 1 in each run
  std::vector<std::size_t> clusters = {};  ///< number of the cluster of each; empty: each is one
  std::vector<double> run_means = {};      ///< mean over the items of each run
};

std::vector<AnsweredTask> read_answers(const ChoicesOptions& options,
                                       const std::vector<std::string>& labels);

/// Computes all measures of a task; `layer` reads the scores of that layer.
std::vector<MeasuredValues> measure_items(const AnsweredTask& task,
                                          std::optional<std::size_t> layer = std::nullopt);

/// Returns how often each choice is correct, or is selected by its log-likelihood; empty if items
/// have no choices.
std::vector<double> gold_shares(const AnsweredTask& task);
std::vector<double> prediction_shares(const AnsweredTask& task);

}  // namespace lime
