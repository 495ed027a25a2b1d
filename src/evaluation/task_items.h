// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/options.h"
#include "evaluation/prompts.h"
#include "evaluation/task_rules.h"
#include "store/samples_file.h"

namespace lime {

/// Items of one task, with prompts and answers.
struct EvalTask {
  std::string name;
  Answer answer = Answer::kChoice;
  bool logs_acc_norm = false;
  std::vector<EvalSample> items;  ///< `log_likelihoods` are those of a samples file
  std::vector<std::string> warnings = {};
};

/// Selects items and few-shot examples.
struct ItemOptions {
  std::int64_t shots = 0;
  std::uint32_t fewshot_seed = 1234;
  std::optional<std::int64_t> limit;  ///< the first items of each task
  PromptOptions prompts = {};
};

/// Reads the rows of a benchmark: JSON Lines, a JSON array, or BIG-bench's task.json. SuperGLUE's
/// MultiRC becomes one row per answer, BIG-bench the rows of the Hugging Face copy.
/// @throws IoError, FormatError  names file and line.
std::vector<TaskDocument> read_documents(const std::filesystem::path& file);

/// Creates the items of a task with the prompts of lm-evaluation-harness.
/// @param pool  file of few-shot examples; empty if the rule requires none
/// @throws InvalidArgument  if few-shot examples are needed and the pool has too few.
/// @throws FormatError      if a row is not of this task or its gold answer is out of range.
EvalTask read_task(const std::string& name, const std::filesystem::path& data,
                   const std::filesystem::path& pool, const ItemOptions& options);

/// Reads the items of a file of `lm-eval --log_samples` or of lime-eval. Contexts and
/// continuations are used as they are.
/// @param file  its name gives the task if the lines do not: samples_TASK_DATE.jsonl
/// @throws FormatError  names the line.
std::vector<EvalTask> read_samples(const std::filesystem::path& file,
                                   std::optional<std::int64_t> limit);

/// Tasks to evaluate and their files.
struct TaskOptions {
  /// Names of task_rules(), `mmlu` for all its subjects in a folder, or `lime-paper`.
  std::vector<std::string> tasks;
  /// A file per task, or one folder: TASK.eval.jsonl, TASK.jsonl, TASK/test.jsonl,
  /// TASK/validation*.jsonl or TASK/task.json in it.
  std::vector<std::filesystem::path> data;
  /// A file per task, or one folder with TASK.fewshot.jsonl or TASK/train.jsonl; default: that of
  /// `data`.
  std::vector<std::filesystem::path> fewshot_data;
  /// Files of `lm-eval --log_samples` or of lime-eval, instead of tasks.
  std::vector<std::filesystem::path> samples;
  ItemOptions items;
  bool chat = false;  ///< the caller sets items.prompts.chat

  void describe(OptionList& list);
  /// @throws InvalidArgument
  void validate() const;
};

/// Reads the items of all tasks.
/// @throws IoError, FormatError, InvalidArgument
std::vector<EvalTask> read_tasks(const TaskOptions& options);

}  // namespace lime
