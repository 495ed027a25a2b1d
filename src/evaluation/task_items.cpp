// SPDX-License-Identifier: Apache-2.0
#include "evaluation/task_items.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>
#include <sstream>
#include <unordered_map>

#include "checkpoint/tokenizer/python_text.h"
#include "core/files/atomic_file.h"
#include "core/files/input_file.h"
#include "core/utf8.h"
#include "evaluation/python_random.h"
#include "evaluation/yaml_file.h"

namespace lime {
namespace {

/// Returns whether a task.json of BIG-bench adds the choices to its prompts.
bool lists_choices(const Json& task, std::string_view where) {
  const Json value = task.value("append_choices_to_input", Json(true));
  if (value.is_boolean()) return value.get<bool>();
  throw FormatError("{}: 'append_choices_to_input' must be true or false, got {}", where,
                    printable(dump_json(value)));
}

/// Returns a row of BIG-bench's task.json as the Hugging Face copy stores it.
Json big_bench_row(const Json& task, const Json& example, const std::string& where) {
  Json choices = Json::array();
  Json scores = Json::array();
  double best = 0.0;
  std::string target;
  for (const auto& [choice, score] : example["target_scores"].items()) {
    if (!score.is_number()) throw FormatError("{}: scores must be numbers", where);
    choices.push_back(choice);
    scores.push_back(score);
    if (choices.size() > 1 && score.get<double>() <= best) continue;
    best = score.get<double>();
    target = choice;
  }
  std::string prompt = text_or(task, "task_prefix", "", where) +
                       text_or(task, "example_input_prefix", "\nQ: ", where) +
                       text_or(example, "input", "", where);
  if (lists_choices(task, where)) {
    const std::string prefix = text_or(task, "choice_prefix", "\n  choice: ", where);
    for (const Json& choice : choices) prompt += prefix + choice.get<std::string>();
  }
  prompt += text_or(task, "example_output_prefix", "\nA: ", where);
  return {{"inputs", python_strip(prompt)},
          {"targets", Json::array({target})},
          {"multiple_choice_targets", std::move(choices)},
          {"multiple_choice_scores", std::move(scores)}};
}

/// Returns a row that the authors publish, with `question` of stem and labelled choices, as the
/// Hugging Face copy stores it.
Json labelled_row(const Json& row) {
  const Json question = row["question"];
  Json choices = {{"text", Json::array()}, {"label", Json::array()}};
  for (const Json& choice : question.value("choices", Json::array())) {
    for (auto& [key, list] : choices.items()) {
      if (choice.is_object()) list.push_back(choice.value(key, Json()));
    }
  }
  return {{"id", row.value("id", Json(""))},
          {"question", question.value("stem", Json())},
          {"choices", choices},
          {"answerKey", row.value("answerKey", Json(""))}};
}

/// Returns an entry that a passage of MultiRC must have.
const Json& entry_of(const Json& object, const char* key, const std::string& where) {
  const bool is_list = key == std::string_view("questions") || key == std::string_view("answers");
  const auto found = object.find(key);
  if (object.is_object() && found != object.end() && (!is_list || found->is_array())) return *found;
  throw FormatError("{}: must be a passage of MultiRC, with the {} '{}'", where,
                    is_list ? "list" : "entry", key);
}

/// Appends a row per answer to the questions of a passage of SuperGLUE's MultiRC.
void add_passage(std::vector<TaskDocument>& documents, const Json& json, const std::string& where) {
  const Json& passage = json["passage"];
  std::int64_t question_id = 0;
  for (const Json& question : entry_of(passage, "questions", where)) {
    std::int64_t answer_id = 0;
    for (const Json& answer : entry_of(question, "answers", where)) {
      documents.push_back({{{"paragraph", entry_of(passage, "text", where)},
                            {"question", entry_of(question, "question", where)},
                            {"answer", entry_of(answer, "text", where)},
                            {"idx",
                             {{"paragraph", json.value("idx", Json())},
                              {"question", question.value("idx", Json(question_id))},
                              {"answer", answer.value("idx", Json(answer_id))}}},
                            {"label", answer.value("label", Json())}},
                           where});
      ++answer_id;
    }
    ++question_id;
  }
}

/// Appends a row; a passage of SuperGLUE's MultiRC becomes a row per answer.
void add_document(std::vector<TaskDocument>& documents, Json json, const std::string& where) {
  if (!json.is_object()) throw FormatError("{}: must be a JSON object", where);
  if (json.contains("question") && json["question"].is_object()) json = labelled_row(json);
  const auto passage = json.find("passage");
  if (passage != json.end() && passage->is_object()) return add_passage(documents, json, where);
  documents.push_back({std::move(json), where});
}

/// Checks what all tasks require of a question.
Question checked_question(const TaskRule& rule, const TaskDocument& document) {
  Question question;
  try {
    question = rule.question(document);
  } catch (const FormatError& error) {
    throw FormatError("{}; {} expects {}", error.what(), rule.name, rule.fields);
  }
  const std::size_t count = question.continuations.size();
  throw_if<FormatError>(rule.answer == Answer::kChoice && count < 2,
                        "{}: must have at least two choices, got {}", document.where, count);
  throw_if<FormatError>(question.gold >= count,
                        "{}: the gold answer must be one of {} choices, got index {}",
                        document.where, count, question.gold);
  for (const std::string& text : question.continuations) {
    if (python_strip(text).empty()) throw FormatError("{}: an answer is empty", document.where);
  }
  return question;
}

PromptTurn example_of(const Question& question) {
  const std::size_t context = std::min(question.gold, question.contexts.size() - 1);
  return {question.contexts[context], question.continuations[question.gold]};
}

/// Returns the few-shot examples of the next item.
std::vector<PromptTurn> examples_before(const TaskDocument& item, const TaskRule& rule,
                                        const std::vector<TaskDocument>& pool, std::size_t shots,
                                        PythonRandom& random) {
  const bool drops_item = rule.shots == Shots::kPoolButItem;
  std::vector<std::size_t> selected(shots > 0 && drops_item ? shots + 1 : shots);
  throw_if(pool.size() < selected.size(),
           "{}: {} shots need a pool of at least {} few-shot examples, got {}", rule.name, shots,
           selected.size(), pool.size());
  if (rule.shots == Shots::kFirst) {
    std::iota(selected.begin(), selected.end(), 0);
  } else {
    selected = random.sample(pool.size(), selected.size());
  }
  std::vector<PromptTurn> examples;
  for (const std::size_t i : selected) {
    if (shots == 0) break;
    if (drops_item && pool[i].json == item.json) continue;
    examples.push_back(example_of(checked_question(rule, pool[i])));
    --shots;
  }
  if (shots == 0) return examples;
  throw InvalidArgument("{}: the few-shot pool repeats the item; remove it there", item.where);
}

/// Warns about equal rows, which count twice.
void warn_of_duplicates(const std::vector<TaskDocument>& documents, EvalTask& task) {
  std::unordered_map<Json, const TaskDocument*> seen;
  std::int64_t count = 0;
  std::string first;
  for (const TaskDocument& document : documents) {
    const auto [entry, is_new] = seen.try_emplace(document.json, &document);
    if (is_new || ++count > 1) continue;
    first = fmt::format("{} repeats {}", document.where, entry->second->where);
  }
  if (count > 0) {
    task.warnings.push_back(fmt::format(
        "{}: {} duplicate items are counted as the harness does ({})", task.name, count, first));
  }
}

/// Warns about items in which the model cannot tell two choices apart.
void warn_of_equal_choices(EvalTask& task) {
  std::int64_t count = 0;
  std::int64_t first = 0;
  for (const EvalSample& item : task.items) {
    std::set<std::pair<std::string_view, std::string_view>> choices;
    for (std::size_t i = 0; i < item.continuations.size(); ++i) {
      choices.emplace(item.contexts[i], item.continuations[i]);
    }
    if (choices.size() == item.continuations.size()) continue;
    if (count++ == 0) first = item.doc_id;
  }
  if (count == 0) return;
  task.warnings.push_back(
      fmt::format("{}: {} of {} items have equal choices, of which the first is selected, as the "
                  "harness does (doc_id {})",
                  task.name, count, task.items.size(), first));
}

/// @param examples  few-shot examples
EvalSample item_of(const TaskRule& rule, const Question& question, const PromptOptions& prompts,
                   std::span<const PromptTurn> examples) {
  EvalSample item;
  item.gold = static_cast<std::int64_t>(question.gold);
  const std::string description = task_description(rule.name);
  for (const std::string& context : question.contexts) {
    item.contexts.push_back(prompt_text(prompts, description, examples, context));
  }
  if (rule.answer == Answer::kText) {
    item.target = question.continuations[0];
    item.stop_strings = {"Question:", "</s>", "<|im_end|>"};
    return item;
  }
  item.contexts.resize(question.continuations.size(), item.contexts.front());
  item.is_delimited = !prompts.chat;
  const char* const delimiter = rule.answer == Answer::kChoice ? prompts.target_delimiter() : "";
  for (const std::string& text : question.continuations) {
    item.continuations.push_back(delimiter + text);
  }
  return item;
}

}  // namespace

std::vector<TaskDocument> read_documents(const std::filesystem::path& file) {
  std::vector<TaskDocument> documents;
  if (file.extension() != ".json" && !is_yaml(file)) {
    for_each_line(file, [&](std::string_view line, std::int64_t number) {
      const std::string where = fmt::format("'{}' line {}", file.string(), number);
      add_document(documents, parse_json(line, where), where);
      return true;
    });
  } else {
    const Json json = is_yaml(file) ? read_yaml_file(file) : read_json_file(file);
    const bool is_task = json.is_object() && json.contains("examples");
    const Json& rows = is_task ? json["examples"] : json;
    throw_if<FormatError>(!rows.is_array(),
                          "'{}': must be a list of items, or a task.json of BIG-bench",
                          file.string());
    std::int64_t number = 0;
    for (const Json& row : rows) {
      const std::string where = fmt::format("'{}' item {}", file.string(), number++);
      if (is_task && (!row.contains("target_scores") || !row["target_scores"].is_object())) {
        continue;  // no choices: the harness omits it
      }
      add_document(documents, is_task ? big_bench_row(json, row, where) : row, where);
      if (is_task) documents.back().lists_choices = lists_choices(json, where);
    }
  }
  if (documents.empty()) throw FormatError("'{}': contains no items", file.string());
  return documents;
}

EvalTask read_task(const std::string& name, const std::filesystem::path& data,
                   const std::filesystem::path& pool, const ItemOptions& options) {
  const TaskRule rule = task_rule(name);
  EvalTask task{rule.name, rule.answer, rule.logs_acc_norm, {}};
  const std::vector<TaskDocument> documents = read_documents(data);
  std::vector<TaskDocument> read_pool;
  if (options.shots > 0 && rule.shots != Shots::kItems) {
    throw_if(pool.empty(),
             "{}: {} shots need a file of few-shot examples; give it with "
             "--fewshot-data",
             rule.name, options.shots);
    read_pool = read_documents(pool);
  }
  warn_of_duplicates(documents, task);
  if (documents.front().lists_choices) {
    task.warnings.push_back(fmt::format(
        "{}: append_choices_to_input lists the choices in the order of the file; BIG-bench "
        "shuffles them",
        rule.name));
  }
  PythonRandom random(options.fewshot_seed);
  for (const TaskDocument& document : documents) {
    if (options.limit && std::ssize(task.items) == *options.limit) break;
    const Question question = checked_question(rule, document);
    const std::vector<PromptTurn> examples =
        examples_before(document, rule, rule.shots == Shots::kItems ? documents : read_pool,
                        static_cast<std::size_t>(options.shots), random);
    EvalSample item = item_of(rule, question, options.prompts, examples);
    item.task = rule.name;
    item.doc_id = std::ssize(task.items);
    item.document = document.json;
    task.items.push_back(std::move(item));
  }
  warn_of_equal_choices(task);
  return task;
}

std::vector<EvalTask> read_samples(const std::filesystem::path& file,
                                   std::optional<std::int64_t> limit) {
  std::vector<EvalTask> tasks;
  std::set<std::pair<std::string, std::int64_t>> seen;
  read_samples_file(file, [&](EvalSample sample) {
    if (tasks.empty() || tasks.back().name != sample.task) {
      const Answer answer = sample.is_text()                   ? Answer::kText
                            : sample.continuations.size() == 1 ? Answer::kContinuation
                                                               : Answer::kChoice;
      tasks.push_back({sample.task, answer, sample.logs_acc_norm, {}});
    }
    std::vector<EvalSample>& items = tasks.back().items;
    // A generated text has a line per filter.
    if (!seen.insert({sample.task, sample.doc_id}).second) return;
    if (limit && std::ssize(items) >= *limit) return;
    items.push_back(std::move(sample));
  });
  std::ranges::for_each(tasks, warn_of_equal_choices);
  return tasks;
}

namespace {

namespace fs = std::filesystem;

/// The choice tasks of the LIMe paper.
constexpr const char* kPaperTasks =
    "arc_easy arc_challenge hellaswag openbookqa copa multirc wic qnli wnli piqa winogrande "
    "bigbench_key_value_maps bigbench_mathematical_induction bigbench_implicit_relations "
    "bigbench_logical_deduction_three_objects";

bool is_folder(const std::vector<fs::path>& paths) {
  std::error_code hidden;
  return paths.size() == 1 && fs::is_directory(paths.front(), hidden);
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
    if (path_exists(folder / file)) return folder / file;
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
  throw InvalidArgument(OptionName(option),
                        "expected a folder or one file per task, got {} for {} tasks", files.size(),
                        tasks);
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
  list.add("chat", chat,
           "write prompts with the chat template of the checkpoint, as --apply_chat_template of "
           "lm-eval");
  list.add("fewshot_as_multiturn", items.prompts.fewshot_as_multiturn,
           "with --chat: few-shot examples are turns of user and assistant, or with false one "
           "message; default: true, as lm-eval");
  list.add("system_instruction", items.prompts.system_instruction,
           "text before the description of the task; with --chat the message of the system");
  list.add("limit", items.limit, "evaluate only the first N items of each task");
}

void TaskOptions::validate() const {
  throw_if(tasks.empty() == samples.empty(), OptionName("tasks"),
           "expected --tasks with --data, or --samples; got {}",
           tasks.empty() ? "neither" : "both");
  throw_if(!tasks.empty() && data.empty(), OptionName("data"),
           "expected a folder or one file per task, got none");
  constexpr std::int64_t kMaxShots = 1000;
  throw_if(items.shots < 0 || items.shots > kMaxShots, OptionName("shots"),
           "must be from 0 to {}, got {}", kMaxShots, items.shots);
  throw_if(!samples.empty() && chat, OptionName("chat"),
           "prompts of --samples are used as they are; omit --chat");
  throw_if(!samples.empty() && !items.prompts.system_instruction.empty(),
           OptionName("system_instruction"),
           "prompts of --samples are used as they are; omit --system-instruction");
  throw_if(items.prompts.fewshot_as_multiturn && !chat, OptionName("fewshot_as_multiturn"),
           "applies to --chat only; add --chat, or omit it");
  if (items.limit && *items.limit < 1) {
    throw InvalidArgument(OptionName("limit"), "must be >= 1, got {}", *items.limit);
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
