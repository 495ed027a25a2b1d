// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "evaluation/task_fields.h"

namespace lime {

/// Row converted to prompts and answers, without few-shot examples.
struct Question {
  /// Text up to the answer: one for all choices, or one per choice (WinoGrande).
  std::vector<std::string> contexts;
  /// Text after each context, without the delimiter.
  std::vector<std::string> continuations;
  std::size_t gold = 0;  ///< index of the correct choice
};

/// Method by which lm-evaluation-harness selects few-shot examples. `random.Random(1234)` draws
/// them, item after item.
enum class Shots {
  kPool,         ///< n from the pool
  kPoolButItem,  ///< n + 1 from the pool; those equal to the item are removed, the first n remain
  kItems,        ///< n from the items themselves, the evaluated one included
  kFirst,        ///< the first n of the pool, without a draw
};

/// Type of answer that a task requires.
enum class Answer {
  kChoice,        ///< the choice with the largest log-likelihood
  kContinuation,  ///< log-likelihood of one continuation, and whether greedy decoding yields it
  kText,          ///< generated text
};

/// Prompt template of a task.
struct TaskRule {
  std::string name;
  std::string fields;  ///< of the data file, for messages
  Shots shots = Shots::kPool;
  /// Converts a row. @throws FormatError  if a field is missing or the gold answer is unknown.
  std::function<Question(const TaskDocument& document)> question;
  bool logs_acc_norm = false;  ///< as the harness
  Answer answer = Answer::kChoice;
};

/// Returns the rule of a task of lm-evaluation-harness 0.4.13, or that of a .yaml or .json file
/// with `prompt`, `choices`, `gold` and optionally `labels`, where "{{field}}" is the text of a
/// row. With `labels` the gold answer is one of them, not an index.
/// @throws InvalidArgument  that lists the known names; IoError, FormatError  if it is such a file.
TaskRule task_rule(const std::string& task);

/// Returns the text that precedes the few-shot examples of a task; empty except for MMLU.
std::string task_description(std::string_view task);

}  // namespace lime
