// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/options.h"
#include "core/program/progress.h"
#include "model/decoders/decoder.h"
#include "train/sequence_batches.h"
#include "train/training_run.h"

namespace lime {

/// Largest number of samples drawn at once: twenty times the paper's, in 1 to 3 GB of memory.
inline constexpr std::int64_t kMaxDrawnSamples = 1'000'000;

/// Checks a number of samples to draw. @throws InvalidArgument  that names `option`, if it is
/// not in [1, kMaxDrawnSamples].
void check_drawn_samples(const char* option, std::int64_t count);

/// Reports every thousandth sample drawn.
void report_drawn(const ProgressFn& on_progress, std::int64_t drawn, std::int64_t count);

/// Adapts the progress of a training run to the samples drawn before its first step.
ProgressFn drawing(const ProgressFn& on_progress);

enum class TaskSplit : std::uint8_t { kTraining, kTest };

/// Files with samples of a task that otherwise generates them from the seed.
struct TaskFiles {
  /// Replaces generated training samples; empty for none.
  std::filesystem::path train_file;
  /// Replaces generated test samples; empty for none. Shares no sample with `train_file`.
  std::filesystem::path test_file;

  void describe(OptionList& list);

  /// Checks the options of a task without samples. @throws InvalidArgument  if a file is named.
  void require_none() const;

  /// Checks that two files share no sample.
  /// @param training, test  the samples of the two files, each as text.
  /// @throws InvalidArgument  naming a sample that is in both.
  void require_apart(std::span<const std::string> training,
                     std::span<const std::string> test) const;

  /// Returns the SHA-256 of a file; null without one.
  static Json digest_of(const std::filesystem::path& file);
};

template <typename Sample> struct TaskSamples {
  std::vector<Sample> training;
  std::vector<Sample> test;
};

/// Reads the samples of the given files and generates the others, those of the test first.
/// Generated samples are in no file; the two files are checked to be disjoint.
///
/// @param read    samples of a file: std::vector<Sample>(const std::filesystem::path&).
/// @param draw    std::vector<Sample>(TaskSplit, std::span<const Sample> excluded), without those
///                excluded.
/// @param key_of  text that identifies a sample: std::string(const Sample&).
/// @throws InvalidArgument  if a sample is in both files; whatever `read` and `draw` throw.
template <typename Sample, typename Read, typename Draw, typename KeyOf>
TaskSamples<Sample> take_samples(const TaskFiles& files, const Read& read, const Draw& draw,
                                 const KeyOf& key_of) {
  const bool draws_training = files.train_file.empty();
  const bool draws_test = files.test_file.empty();
  TaskSamples<Sample> samples;
  if (!draws_training) samples.training = read(files.train_file);
  if (!draws_test) samples.test = read(files.test_file);
  if (draws_test) samples.test = draw(TaskSplit::kTest, samples.training);
  if (draws_training) samples.training = draw(TaskSplit::kTraining, samples.test);
  if (draws_training || draws_test) return samples;
  const auto keys_of = [&](const std::vector<Sample>& all) {
    std::vector<std::string> keys;
    for (const Sample& sample : all) keys.push_back(key_of(sample));
    return keys;
  };
  files.require_apart(keys_of(samples.training), keys_of(samples.test));
  return samples;
}

/// The sequences of a task, and what its run stores with the model.
struct SequenceTraining {
  std::vector<TokenSequence> training;
  std::vector<TokenSequence> test;  ///< for the validation loss; may be empty
  std::int32_t pad_id = 0;
  Json description;                                                  ///< as in TrainingJob
  std::map<std::string, std::string> files;                          ///< as in TrainingJob
  std::function<Json(const ProgressFn&, std::stop_token)> evaluate;  ///< as in TrainingJob
};

/// Trains `decoder` on batches of whole sequences with the options of `setup`.
/// @throws as run_training() and SequenceBatches
TrainingOutcome train_on_sequences(Decoder& decoder, const TrainingSetup& setup,
                                   SequenceTraining task, const ProgressFn& on_progress,
                                   std::stop_token stop);

/// Continues prompts greedily; prompts of equal length are batched with a key-value cache.
/// @param on_progress  number of completed prompts.
/// @return the new tokens of each prompt up to `end_token` (included), at most `max_new_tokens`.
/// @throws Interrupted  if `stop` was requested.
std::vector<std::vector<std::int32_t>> answer_greedily(
    const Decoder& decoder, std::span<const std::vector<std::int32_t>> prompts,
    std::int32_t end_token, std::int64_t max_new_tokens, const ProgressFn& on_progress = {},
    std::stop_token stop = {});

}  // namespace lime
