// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/chat/chat_template.h"

namespace lime {

/// A question of a benchmark with its answer, as a few-shot example.
struct PromptTurn {
  std::string question;
  std::string answer;
};

/// How lm-evaluation-harness 0.4.13 writes prompts: `--apply_chat_template`,
/// `--fewshot_as_multiturn` and `--system_instruction`.
struct PromptOptions {
  /// Template that writes the prompts; null: plain text.
  std::shared_ptr<const ChatTemplate> chat = nullptr;
  /// With `chat`: few-shot examples are turns of their own, not text of one message. Unset: true.
  std::optional<bool> fewshot_as_multiturn = std::nullopt;
  std::string system_instruction;  ///< precedes the description of the task

  /// Text between context and choice: empty after a template, which ends a context itself.
  const char* target_delimiter() const { return chat ? "" : " "; }
};

/// Returns the text before an answer.
///
/// Plain text is `system_instruction` and description, each example as "question answer\n\n", and
/// the question. With a template they are a message of the system, and messages of user and
/// assistant or one of the user. A template that accepts no system message gets none, as there.
/// @param description  of the task; may be empty
/// @throws InvalidArgument, FormatError  if the template fails
std::string prompt_text(const PromptOptions& options, const std::string& description,
                        std::span<const PromptTurn> examples, const std::string& question);

}  // namespace lime
