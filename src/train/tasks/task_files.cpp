// SPDX-License-Identifier: Apache-2.0
#include "train/tasks/task_files.h"

#include <unordered_set>

#include "core/errors.h"
#include "core/files/sha256.h"

namespace lime {

void check_drawn_samples(const char* option, std::int64_t count) {
  if (count >= 1 && count <= kMostDrawnSamples) return;
  throw InvalidArgument("{}: must be from 1 to {}, got {}", option, kMostDrawnSamples, count);
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
  list.group("Samples from files (--task aet or prosqa)");
  list.add(
      "train_file", train_file,
      "training samples, instead of generated ones: output of generate, or a ProsQA JSON file");
  list.add("test_file", test_file,
           "test samples, never trained on, in the same formats, e.g. prosqa_test.json");
}

void TaskFiles::require_none() const {
  if (train_file.empty() && test_file.empty()) return;
  throw InvalidArgument(
      "{}: must not be given with --task lm, which is trained on --text and tested on "
      "--validation-text",
      train_file.empty() ? "test_file" : "train_file");
}

void TaskFiles::require_apart(std::span<const std::string> training,
                              std::span<const std::string> test) const {
  const std::unordered_set<std::string> tested(test.begin(), test.end());
  for (const std::string& sample : training) {
    if (!tested.contains(sample)) continue;
    throw InvalidArgument(
        "train_file: '{}' must not contain test samples, got '{:.60}', which is also in '{}'; "
        "remove it from one of them",
        train_file.string(), sample, test_file.string());
  }
}

Json TaskFiles::digest_of(const std::filesystem::path& file) {
  return file.empty() ? Json() : Json(sha256_of_file(file));
}

}  // namespace lime
