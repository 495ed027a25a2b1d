// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "checkpoint/chat/chat_template.h"

namespace lime {

/// Writes the lines of `--lines --chat` with the checkpoint's chat template, up to the beginning of
/// the answer that the model would give.
class ChatLines {
 public:
  /// @throws IoError, FormatError  as ChatTemplate::read()
  explicit ChatLines(const std::filesystem::path& checkpoint)
      : template_(ChatTemplate::read(checkpoint)) {}

  const ChatTemplate& chat_template() const { return template_; }

  /// Returns the text of a line: a message of the user, or in a .jsonl file an object with
  /// `messages`, a list of objects with `role` and `content`. No beginning of an answer follows if
  /// the last message is the assistant's.
  /// @param where  names file and line in errors
  /// @throws FormatError      if a line of a .jsonl file is no such object
  /// @throws InvalidArgument  if the template does not accept the messages
  std::string text_of(std::string_view line, const std::filesystem::path& file,
                      const std::string& where) const;

 private:
  ChatTemplate template_;
};

}  // namespace lime
