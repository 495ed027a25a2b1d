// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/chat/chat_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "checkpoint/checkpoint_files.h"
#include "checkpoint/gguf/gguf_files.h"
#include "checkpoint/gguf/gguf_tokenizer.h"
#include "checkpoint/tokenizer/special_tokens.h"
#include "core/errors.h"
#include "core/files/input_file.h"
#include "core/json.h"
#include "core/utf8.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

constexpr const char* kChatTemplateFile = "chat_template.jinja";
constexpr const char* kTokenizerConfig = "tokenizer_config.json";
constexpr const char* kSpecialTokensMap = "special_tokens_map.json";

/// The files that say how a checkpoint writes messages; null where they are absent.
struct ChatFiles {
  Json config;
  Json special_tokens;
  std::optional<std::string> source;  ///< of chat_template.jinja
};

std::optional<std::string> text_if_present(const fs::path& path) {
  if (!fs::exists(path)) return std::nullopt;
  const MappedFile file(path);
  require_utf8(path, file.text());
  return std::string(file.text());
}

ChatFiles read_chat_files(const fs::path& place) {
  ChatFiles files;
  if (is_gguf_file(place)) {
    const auto tokenizer = gguf_tokenizer_files(open_gguf(place).header, place.string());
    files.config = parse_json(tokenizer.at(kTokenizerConfig), place.string());
    return files;
  }
  if (fs::exists(place / kTokenizerConfig)) files.config = read_json_file(place / kTokenizerConfig);
  if (fs::exists(place / kSpecialTokensMap))
    files.special_tokens = read_json_file(place / kSpecialTokensMap);
  files.source = text_if_present(place / kChatTemplateFile);
  return files;
}

/// Returns the template of tokenizer_config.json: a text, or the one called "default" of a list.
std::optional<std::string> template_of(const Json& config, const std::string& where) {
  const auto found = config.is_object() ? config.find("chat_template") : config.end();
  if (found == config.end() || found->is_null()) return std::nullopt;
  if (found->is_string()) return found->get<std::string>();
  if (found->is_array()) {
    for (const Json& entry : *found) {
      const bool is_whole = entry.is_object() && entry.contains("name") &&
                            entry.contains("template") && entry["template"].is_string();
      if (is_whole && entry["name"] == "default") return entry["template"].get<std::string>();
    }
  }
  throw FormatError(
      "{}: chat_template must be a string, or a list with a template called \"default\"", where);
}

/// Returns the special tokens by the names that templates use: bos_token, eos_token, ...
jinja::Variables special_tokens_of(const ChatFiles& files) {
  jinja::Variables tokens;
  for (const Json* const json : {&files.config, &files.special_tokens}) {
    if (!json->is_object()) continue;
    for (const auto& [name, value] : json->items()) {
      const bool is_known = std::ranges::find(tokens, name, [](const auto& token) {
                              return token.first;
                            }) != tokens.end();
      const auto content = token_content(value);
      if (name.ends_with("_token") && content && !is_known) tokens.emplace_back(name, *content);
    }
  }
  return tokens;
}

}  // namespace

ChatTemplate ChatTemplate::read(const fs::path& checkpoint) {
  const fs::path place = find_tokenizer(checkpoint).folder;
  const ChatFiles files = read_chat_files(place);
  const std::string where = fmt::format("chat template of '{}'", checkpoint.string());
  const std::optional<std::string> source =
      files.source ? files.source : template_of(files.config, where);
  throw_if<FormatError>(
      !source, "'{}' has no chat template ({}, or chat_template in {}); is it a base model?",
      checkpoint.string(), kChatTemplateFile, kTokenizerConfig);
  return ChatTemplate(*source, where, special_tokens_of(files));
}

ChatTemplate::ChatTemplate(std::string_view source, std::string where,
                           jinja::Variables special_tokens)
    : template_(source, std::move(where)),
      special_tokens_(std::move(special_tokens)),
      uses_date_(source.find("strftime_now") != source.npos) {}

std::string ChatTemplate::text_of(std::span<const ChatMessage> messages,
                                  bool adds_generation_prompt) const {
  std::vector<jinja::Value> list;
  for (const ChatMessage& message : messages) {
    list.push_back(jinja::Value::dict({{"role", message.role}, {"content", message.content}}));
  }
  jinja::Variables variables = special_tokens_;
  variables.emplace_back("messages", jinja::Value::list(std::move(list)));
  variables.emplace_back("tools", jinja::None{});
  variables.emplace_back("documents", jinja::None{});
  variables.emplace_back("add_generation_prompt", adds_generation_prompt);
  return template_.render(variables);
}

}  // namespace lime
