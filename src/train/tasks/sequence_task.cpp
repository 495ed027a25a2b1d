// SPDX-License-Identifier: Apache-2.0
#include "train/tasks/sequence_task.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <unordered_set>

#include "core/files/sha256.h"

namespace lime {

void check_drawn_samples(const char* option, std::int64_t count) {
  if (count >= 1 && count <= kMaxDrawnSamples) return;
  throw InvalidArgument(OptionName(option), "must be from 1 to {}, got {}", kMaxDrawnSamples,
                        count);
}

void report_drawn(const ProgressFn& on_progress, std::int64_t drawn, std::int64_t count) {
  constexpr std::int64_t kInterval = 1000;
  if (on_progress && drawn % kInterval == 0) on_progress({drawn, count, ""});
}

ProgressFn drawing(const ProgressFn& on_progress) {
  if (!on_progress) return {};
  return [on_progress](const Progress& drawn) {
    on_progress({0, 0, fmt::format("{} of {} samples drawn", drawn.done, drawn.total)});
  };
}

void TaskFiles::describe(OptionList& list) {
  list.group("Samples from files (--task aet, prosqa or text-pairs)");
  list.add("train_file", train_file,
           "training samples instead of generated ones: output of generate, a ProsQA JSON file, or "
           "JSON Lines with prompt and answer (text-pairs)");
  list.add("test_file", test_file,
           "test samples, never trained on, in the same formats, e.g. prosqa_test.json");
}

void TaskFiles::require_none() const {
  if (train_file.empty() && test_file.empty()) return;
  throw InvalidArgument(
      OptionName(train_file.empty() ? "test_file" : "train_file"),
      "must not be given with --task lm, which is trained on --text and tested on "
      "--validation-text");
}

void TaskFiles::require_apart(std::span<const std::string> training,
                              std::span<const std::string> test) const {
  const std::unordered_set<std::string> tested(test.begin(), test.end());
  for (const std::string& sample : training) {
    if (!tested.contains(sample)) continue;
    throw InvalidArgument(
        OptionName("train_file"),
        "'{}' must not contain test samples, got '{:.60}', which is also in '{}'; "
        "remove it from one of them",
        train_file.string(), sample, test_file.string());
  }
}

Json TaskFiles::digest_of(const std::filesystem::path& file) {
  return file.empty() ? Json() : Json(sha256_of_file(file));
}

TrainingOutcome train_on_sequences(Decoder& decoder, const TrainingSetup& setup,
                                   SequenceTraining task, const ProgressFn& on_progress,
                                   std::stop_token stop) {
  const SequenceBatches::Options order = {
      .batch_size = setup.training.batch_size, .seed = setup.seed, .pad_id = task.pad_id};
  std::vector<std::int64_t> lengths;
  for (const TokenSequence& sequence : task.training) lengths.push_back(std::ssize(sequence.ids));
  setup.warn_of_long(decoder.config(), lengths);
  SequenceBatches batches(std::move(task.training), order);
  std::optional<SequenceBatches> validation;
  if (!task.test.empty()) validation.emplace(std::move(task.test), order);
  const TrainingJob job = {.decoder = decoder,
                           .data = batches,
                           .validation = validation ? &*validation : nullptr,
                           .setup = setup,
                           .description = std::move(task.description),
                           .files = std::move(task.files),
                           .evaluate = std::move(task.evaluate)};
  return run_training(job, on_progress, std::move(stop));
}

namespace {

/// Continues prompts of equal length as one batch.
std::vector<std::vector<std::int32_t>> generate_greedily(
    const Decoder& decoder, std::span<const std::vector<std::int32_t>> prompts,
    std::int32_t end_token, std::int64_t max_new_tokens) {
  const at::NoGradGuard no_grad;
  const auto rows = static_cast<std::int64_t>(prompts.size());
  const auto length = static_cast<std::int64_t>(prompts.front().size());
  at::Tensor ids = at::empty({rows, length}, at::kLong);
  auto* to = ids.data_ptr<std::int64_t>();
  for (const auto& prompt : prompts) to = std::copy(prompt.begin(), prompt.end(), to);

  std::vector<std::vector<std::int32_t>> written(prompts.size());
  std::size_t unfinished = prompts.size();
  KeyValueCache cache;
  Workspace workspace;
  for (std::int64_t i = 0; i < max_new_tokens && unfinished > 0; ++i) {
    const at::Tensor logits =
        decoder
            .forward(ids,
                     {.logits = LogitsFor::kLastToken, .cache = &cache, .workspace = &workspace})
            .logits;
    ids = logits.argmax(-1).to(at::kCPU);
    const auto* const next = ids.data_ptr<std::int64_t>();
    for (std::size_t row = 0; row < written.size(); ++row) {
      auto& text = written[row];
      if (!text.empty() && text.back() == end_token) continue;
      text.push_back(static_cast<std::int32_t>(next[row]));
      if (text.back() == end_token) --unfinished;
    }
  }
  return written;
}

}  // namespace

std::vector<std::vector<std::int32_t>> answer_greedily(
    const Decoder& decoder, std::span<const std::vector<std::int32_t>> prompts,
    std::int32_t end_token, std::int64_t max_new_tokens, const ProgressFn& on_progress,
    std::stop_token stop) {
  constexpr std::size_t kBatchSize = 256;
  std::map<std::size_t, std::vector<std::size_t>> by_length;
  for (std::size_t i = 0; i < prompts.size(); ++i) by_length[prompts[i].size()].push_back(i);
  std::vector<std::vector<std::int32_t>> answers(prompts.size());
  Progress progress;
  progress.total = static_cast<std::int64_t>(prompts.size());
  for (const auto& [length, indices] : by_length) {
    for (std::size_t begin = 0; begin < indices.size(); begin += kBatchSize) {
      if (stop.stop_requested()) throw Interrupted("evaluation: stopped before completion");
      const auto selected =
          std::span(indices).subspan(begin, std::min(kBatchSize, indices.size() - begin));
      std::vector<std::vector<std::int32_t>> batch;
      for (const std::size_t i : selected) batch.push_back(prompts[i]);
      auto written = generate_greedily(decoder, batch, end_token, max_new_tokens);
      for (std::size_t k = 0; k < selected.size(); ++k)
        answers[selected[k]] = std::move(written[k]);
      progress.done += static_cast<std::int64_t>(selected.size());
      if (on_progress) on_progress(progress);
    }
  }
  return answers;
}

}  // namespace lime
