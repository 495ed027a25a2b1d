// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/chat/jinja_template.h"

namespace lime {

struct ChatMessage {
  std::string role;  ///< "system", "user" or "assistant"
  std::string content;
};

/// The template with which a checkpoint writes messages as one text, as transformers'
/// `apply_chat_template` does. Thread-safe.
class ChatTemplate {
 public:
  /// Reads the template of a checkpoint: chat_template.jinja, else `chat_template` of
  /// tokenizer_config.json (the one called "default" of several), else that of the GGUF file; and
  /// the special tokens that it writes by name.
  /// @throws FormatError  if there is none, or it needs more of Jinja than is here; names the line
  /// @throws IoError      if a file cannot be read
  static ChatTemplate read(const std::filesystem::path& checkpoint);

  ChatTemplate(std::string_view source, std::string where, jinja::Variables special_tokens = {});

  /// Returns the text of `messages`, which spells its own special tokens: encode it without adding
  /// any. @param adds_generation_prompt  append the beginning of the answer
  /// @throws InvalidArgument  if the template does not accept the messages; says why
  /// @throws FormatError      if it fails; names the line
  std::string text_of(std::span<const ChatMessage> messages,
                      bool adds_generation_prompt = true) const;

  /// Returns whether the text depends on the day on which it is made.
  bool uses_date() const { return uses_date_; }

 private:
  jinja::Template template_;
  jinja::Variables special_tokens_;
  bool uses_date_;
};

}  // namespace lime
