// SPDX-License-Identifier: Apache-2.0
#include "evaluation/prompts.h"

#include "checkpoint/tokenizer/python_text.h"
#include "core/errors.h"

namespace lime {
namespace {

constexpr const char* kAnswerDelimiter = " ";
constexpr const char* kExampleDelimiter = "\n\n";

/// Joins two texts: `maybe_delimit` of the harness.
std::string joined(const std::string& first, const std::string& second) {
  if (first.empty() || second.empty()) return first + second;
  const bool is_apart = python_rstrip_size(first) < first.size() ||
                        stripped(second, StripSides::kLeft).size() < second.size();
  return first + (is_apart ? "" : kExampleDelimiter) + second;
}

/// Returns the examples and the question as one text.
std::string plain_text(std::span<const PromptTurn> examples, const std::string& question) {
  std::string text;
  for (const PromptTurn& example : examples) {
    text += example.question + kAnswerDelimiter + example.answer + kExampleDelimiter;
  }
  return text + question;
}

std::vector<ChatMessage> messages_of(bool as_turns, const std::string& system,
                                     std::span<const PromptTurn> examples,
                                     const std::string& question) {
  std::vector<ChatMessage> messages;
  if (!system.empty()) messages.push_back({"system", system});
  if (!as_turns) {
    messages.push_back({"user", plain_text(examples, question)});
    return messages;
  }
  for (const PromptTurn& example : examples) {
    messages.push_back({"user", example.question});
    messages.push_back({"assistant", example.answer});
  }
  messages.push_back({"user", question});
  return messages;
}

}  // namespace

std::string prompt_text(const PromptOptions& options, const std::string& description,
                        std::span<const PromptTurn> examples, const std::string& question) {
  const std::string system = joined(options.system_instruction, description);
  if (!options.chat) return system + plain_text(examples, question);
  const auto text = [&](const std::string& instruction) {
    return options.chat->text_of(
        messages_of(options.fewshot_as_multiturn.value_or(true), instruction, examples, question));
  };
  if (system.empty()) return text("");
  try {
    return text(system);
  } catch (const Error&) {
    return text("");  // the template knows no system, or fails on both
  }
}

}  // namespace lime
