// SPDX-License-Identifier: Apache-2.0
#include "capture/input/chat_lines.h"

#include <vector>

#include "core/errors.h"
#include "core/json.h"

namespace lime {
namespace {

std::vector<ChatMessage> messages_of(const Json& json, const std::string& where) {
  const auto found = json.is_object() ? json.find("messages") : json.end();
  throw_if<FormatError>(found == json.end() || !found->is_array() || found->empty(),
                        "{}: must be an object with a list \"messages\"", where);
  std::vector<ChatMessage> messages;
  for (const Json& message : *found) {
    const auto text = [&](const char* key) {
      const auto value = message.is_object() ? message.find(key) : message.end();
      throw_if<FormatError>(value == message.end() || !value->is_string(),
                            "{}: message {} must have a text \"{}\"", where, messages.size(), key);
      return value->get<std::string>();
    };
    messages.push_back({text("role"), text("content")});
  }
  return messages;
}

}  // namespace

std::string ChatLines::text_of(std::string_view line, const std::filesystem::path& file,
                               const std::string& where) const {
  const std::vector<ChatMessage> messages =
      file.extension() == ".jsonl" ? messages_of(parse_json(line, where), where)
                                   : std::vector<ChatMessage>{{"user", std::string(line)}};
  try {
    return template_.text_of(messages, messages.back().role != "assistant");
  } catch (const InvalidArgument& error) {
    throw prefixed(where, error);
  }
}

}  // namespace lime
