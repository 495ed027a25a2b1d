// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "checkpoint/tokenizer.h"
#include "core/json.h"
#include "core/options.h"
#include "core/program/progress.h"
#include "evaluation/resumable_lines.h"
#include "evaluation/task_items.h"
#include "model/decoders/decoder.h"

namespace lime {

/// Limits of the model and of generated text.
struct EvaluationOptions {
  /// Positions of the model; longer contexts lose their start. Unset: max_position_embeddings.
  std::optional<std::int64_t> max_length;
  std::int64_t max_new_tokens = 256;
  std::int64_t batch_size = 8;
  std::vector<int> layers;  ///< of the logit lens
  /// Also fits probes on the output of each layer: is a choice correct? The states of all choices
  /// of a task are then in memory.
  bool probes = false;
  std::vector<std::int64_t> stop_tokens = {};  ///< of generated text
  Json provenance = Json::object();            ///< stored with every sample: model, settings
};

/// Result of one task.
struct EvaluatedTask {
  std::string name;
  std::int64_t items = 0;
  double accuracy = 0.0;  ///< exact_match (strict-match) of generated text
  std::optional<double> normalised_accuracy =
      std::nullopt;                 ///< acc_norm; flexible-extract of generated text
  std::int64_t cut_items = 0;       ///< items with a context that was cut
  std::int64_t computed_items = 0;  ///< in this run, not an earlier one
  std::int64_t tokens = 0;          ///< read for them by the model; of generated text: new ones
  double seconds = 0.0;
  std::optional<double> largest_difference =
      std::nullopt;                ///< from the log-likelihoods of the samples file
  std::int64_t other_answers = 0;  ///< items whose answer differs from that file's
};

/// Evaluates one task and writes a line per item in the format of lm-eval --log_samples, two for
/// generated text. The same bytes, however often the run was interrupted and resumed.
/// @throws Interrupted, NumericalError
/// @throws InvalidArgument  if `out` contains lines of other items or options, names the first
///                          difference
EvaluatedTask evaluate(const EvalTask& task, const Decoder& decoder, const Tokenizer& tokenizer,
                       const EvaluationOptions& options, ResumableLines& out,
                       const ProgressFn& on_progress, const std::stop_token& stop);

}  // namespace lime
