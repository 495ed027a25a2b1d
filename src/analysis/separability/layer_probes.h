// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "analysis/blimp/blimp_analysis.h"
#include "analysis/blimp/pair_tasks.h"
#include "analysis/separability/separability_analysis.h"
#include "core/json.h"
#include "core/program/command_help.h"
#include "core/program/progress.h"
#include "core/threads/thread_pool.h"
#include "store/capture_reader.h"

// The probes of prepare_separability() and prepare_blimp() in detail for one layer: the prediction
// for each row by the fold that did not train on it.

namespace lime {

struct TokenPrediction {
  std::int64_t row = 0;  ///< of the capture
  int truth = 0;         ///< number into TokenProbe::class_names
  int predicted = 0;
  double truth_probability = 0.0;
  double predicted_probability = 0.0;

  bool is_correct() const { return truth == predicted; }
};

struct TokenProbe {
  std::string site;
  int layer = 0;
  std::vector<std::string> class_names;  ///< those that occur
  Eigen::MatrixXi confusion;             ///< rows, [true class, predicted class]
  std::vector<double> accuracies;        ///< of the folds
  std::vector<TokenPrediction> predictions;
};

/// Fits the converged probe of one layer as prepare_separability() does, with the same folds.
/// @param options  captures, controls and method are not used.
/// @throws InvalidArgument  as make_separability_task() and read_class_rows(). @throws Interrupted
TokenProbe probe_tokens_of_layer(const CaptureReader& capture, const std::string& site, int layer,
                                 const SeparabilityOptions& options, ThreadPool& pool,
                                 std::stop_token stop = {});

/// A minimal pair and the predictions for its sentences.
struct PairPrediction {
  std::size_t task = 0;  ///< number into PairProbes::tasks
  SentencePair pair;
  double good_probability = 0.0;  ///< that the good sentence is good
  double bad_probability = 0.0;   ///< that the bad sentence is good
  bool good_is_correct = false;
  bool bad_is_correct = false;

  bool is_correct() const { return good_is_correct && bad_is_correct; }
};

struct PairProbes {
  std::string site;
  int layer = 0;
  std::vector<std::string> tasks;
  Eigen::MatrixXi confusion;       ///< sentences, [true class, predicted class]; 0 bad, 1 good
  std::vector<double> accuracies;  ///< of the tasks: mean over the folds, as the results have it
  std::vector<PairPrediction> predictions;
};

/// Fits the probes of the selected tasks in one layer as prepare_blimp() does.
/// @param options  `task` selects; the seed of the folds is `probe.seed`.
/// @throws InvalidArgument  as prepare_blimp(). @throws Interrupted
PairProbes probe_pairs_of_layer(const CaptureReader& capture, const std::string& site, int layer,
                                const BlimpOptions& options, ThreadPool& pool,
                                const ProgressFn& on_progress = {}, std::stop_token stop = {});

/// Sets the fields of `options` from `stored` of stored_options(), except captures and labels.
/// @throws InvalidArgument  if a value does not fit its field.
template <DescribedOptions T> void assign_stored_options(T& options, const Json& stored) {
  for (const OptionField& field : option_fields(options)) {
    if (field.name == "label" || field.role == OptionRole::kOutput || !stored.contains(field.name))
      continue;
    const Json& value = stored.at(field.name);
    if (!value.is_null()) field.assign(option_texts(value));
  }
}

}  // namespace lime
