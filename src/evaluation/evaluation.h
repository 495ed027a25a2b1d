// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "checkpoint/tokenizer.h"
#include "core/files/atomic_file.h"
#include "core/files/output_lock.h"
#include "core/json.h"
#include "core/options.h"
#include "core/program/progress.h"
#include "evaluation/task_items.h"
#include "model/decoders/decoder.h"

namespace lime {

/// Writes a file of one JSON value per line over one or several runs: an interrupted run leaves
/// `NAME.part`, which the next one reads and continues. Not thread-safe.
class ResumableLines {
 public:
  /// @param resume  continue an earlier run, or its finished file
  /// @throws InvalidArgument  if it is false and there is a part, or another process writes the
  /// file.
  /// @throws IoError          if the file cannot be written.
  ResumableLines(const std::filesystem::path& output, bool resume);

  const std::filesystem::path& part() const { return part_; }

  /// Returns the next lines of the earlier run; none if fewer than `count` are complete. Lines that
  /// add() writes follow those that were returned.
  /// @throws FormatError  if a line is not JSON.
  std::vector<Json> next(std::size_t count);

  /// Writes lines to disk. @throws IoError
  void add(std::span<const Json> lines);

  /// Gives the file its name. @throws IoError
  void commit();

 private:
  OutputLock lock_;
  AtomicFile file_;
  std::filesystem::path part_;
  std::ifstream in_;
  std::ofstream out_;
  std::streamoff kept_ = 0;  ///< end of the last line that was returned
  std::size_t number_ = 0;   ///< of these lines
};

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
