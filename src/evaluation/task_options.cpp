// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <sstream>

#include "core/errors.h"
#include "evaluation/evaluation.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

/// The choice tasks of the LIMe paper.
constexpr const char* kPaperTasks =
    "arc_easy arc_challenge hellaswag openbookqa copa multirc wic qnli wnli piqa winogrande "
    "bigbench_key_value_maps bigbench_mathematical_induction bigbench_implicit_relations "
    "bigbench_logical_deduction_three_objects";

bool is_folder(const std::vector<fs::path>& paths) {
  return paths.size() == 1 && fs::is_directory(paths.front());
}

/// Returns the files of a folder, sorted.
std::vector<fs::path> files_in(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder, error)) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

/// Returns the first file of a task that exists; empty if none does.
fs::path find_file(const fs::path& folder, const std::string& task, bool is_pool) {
  const std::string subject = task.starts_with("mmlu_") ? "mmlu/" + task.substr(5) : task;
  std::vector<fs::path> files;
  if (is_pool) {
    files = {task + ".fewshot.jsonl", subject + "_dev.jsonl", task + "/train.jsonl"};
  } else {
    files = {task + ".eval.jsonl",       task + ".jsonl",
             subject + "_test.jsonl",    task + "/test.jsonl",
             task + "/validation.jsonl", task + "/task.json"};
    for (const fs::path& file : files_in(folder / task)) {
      if (file.filename().string().starts_with("validation")) files.push_back(file);
    }
  }
  for (const fs::path& file : files) {
    if (fs::exists(folder / file)) return folder / file;
  }
  return {};
}

/// Replaces `lime-paper` and `mmlu` by the tasks that they stand for.
std::vector<std::string> expanded(const TaskOptions& options) {
  std::vector<std::string> tasks;
  for (const std::string& task : options.tasks) {
    if (task == "lime-paper") {
      std::istringstream names(kPaperTasks);
      for (std::string name; names >> name;) tasks.push_back(name);
    } else if (task == "mmlu" && is_folder(options.data)) {
      constexpr std::string_view kEnd = "_test.jsonl";
      for (const fs::path& file : files_in(options.data.front() / "mmlu")) {
        const std::string name = file.filename().string();
        if (name.ends_with(kEnd)) {
          tasks.push_back("mmlu_" + name.substr(0, name.size() - kEnd.size()));
        }
      }
    } else {
      tasks.push_back(task);
    }
  }
  return tasks;
}

void check_count(const char* option, const std::vector<fs::path>& files, std::size_t tasks) {
  if (files.empty() || is_folder(files) || files.size() == tasks) return;
  throw InvalidArgument("{}: expected a folder or one file per task, got {} for {} tasks", option,
                        files.size(), tasks);
}

}  // namespace

void TaskOptions::describe(OptionList& list) {
  list.add("tasks", tasks,
           "tasks of lm-evaluation-harness: arc_easy, hellaswag, ... (docs/evaluation.md); mmlu, "
           "lime-paper, or choices for a file of your own")
      .takes_several = true;
  list.add("data", data, "data file of each task, or one folder that contains all of them")
      .takes_several = true;
  list.add("fewshot_data", fewshot_data,
           "file of few-shot examples of each task, or a folder; default: the folder of --data")
      .takes_several = true;
  list.add("samples", samples,
           "evaluate the prompts of these files of lm-eval --log_samples instead of --tasks")
      .takes_several = true;
  list.add("shots", items.shots, "few-shot examples before each item");
  list.add("fewshot_seed", items.fewshot_seed, "seed of the few-shot examples");
  list.add("limit", items.limit, "evaluate the first items of each task only");
}

void TaskOptions::validate() const {
  throw_if(tasks.empty() == samples.empty(),
           "tasks: expected --tasks with --data, or --samples; got {}",
           tasks.empty() ? "neither" : "both");
  throw_if(!tasks.empty() && data.empty(),
           "data: expected a folder or one file per task, got none");
  constexpr std::int64_t kMostShots = 1000;
  throw_if(items.shots < 0 || items.shots > kMostShots, "shots: must be from 0 to {}, got {}",
           kMostShots, items.shots);
  if (items.limit && *items.limit < 1) {
    throw InvalidArgument("limit: must be >= 1, got {}", *items.limit);
  }
}

std::vector<EvalTask> read_tasks(const TaskOptions& options) {
  std::vector<EvalTask> tasks;
  for (const fs::path& file : options.samples) {
    std::vector<EvalTask> read = read_samples(file, options.items.limit);
    std::move(read.begin(), read.end(), std::back_inserter(tasks));
  }
  const std::vector<std::string> names = expanded(options);
  const std::vector<fs::path>& pools =
      options.fewshot_data.empty() && is_folder(options.data) ? options.data : options.fewshot_data;
  check_count("data", options.data, names.size());
  check_count("fewshot_data", pools, names.size());
  const bool is_preset = std::ranges::find(options.tasks, "lime-paper") != options.tasks.end();
  std::vector<std::string> missing;
  for (std::size_t t = 0; t < names.size(); ++t) {
    const std::string name = task_rule(names[t]).name;
    const auto file_in = [&](const std::vector<fs::path>& files, bool is_pool) {
      if (files.empty()) return fs::path();
      return is_folder(files) ? find_file(files.front(), name, is_pool) : files[t];
    };
    const fs::path data = file_in(options.data, false);
    if (!data.empty()) {
      tasks.push_back(read_task(names[t], data, file_in(pools, true), options.items));
    } else if (is_preset) {
      missing.push_back(name);
    } else {
      throw IoError(
          "'{0}': contains no data for {1}; expected {1}.jsonl, {1}/test.jsonl, "
          "{1}/validation.jsonl or {1}/task.json",
          options.data.front().string(), name);
    }
  }
  if (!missing.empty() && !tasks.empty()) {
    tasks.front().warnings.push_back(
        fmt::format("'{}' contains no data for {}; these tasks are omitted",
                    options.data.front().string(), fmt::join(missing, ", ")));
  }
  if (tasks.empty()) {
    throw IoError("'{}': contains no data for any of these tasks", options.data.front().string());
  }
  return tasks;
}

}  // namespace lime
