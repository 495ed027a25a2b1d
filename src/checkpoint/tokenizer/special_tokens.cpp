// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tokenizer/special_tokens.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/errors.h"
#include "core/utf8.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 7> kRoles = {
    "bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token", "mask_token"};

std::optional<Json> read_if_present(const fs::path& path) {
  if (!fs::exists(path)) return std::nullopt;
  return read_json_file(path);
}

void add_name(const std::optional<std::string>& name, std::vector<std::string>& names) {
  if (name && std::ranges::find(names, *name) == names.end()) names.push_back(*name);
}

/// The tokens of one file by their roles, as strings or as objects with `content`.
void read_roles(const JsonFields& fields, SpecialTokens& result) {
  for (const std::string_view role : kRoles) {
    const Json* value = fields.find(role);
    if (value == nullptr) continue;
    const auto content = token_content(*value);
    if (!content) {
      throw FormatError("{} must be a string or an object with a string 'content', got {}",
                        fields.place(role), printable(value->dump()));
    }
    add_name(content, result.names);
    if (role == "bos_token" && !result.bos) result.bos = content;
    if (role == "eos_token" && !result.eos) result.eos = content;
  }
  const Json* additional = fields.find("additional_special_tokens");
  if (additional == nullptr || !additional->is_array()) return;
  for (const Json& token : *additional) add_name(token_content(token), result.names);
}

void read_added_decoder(const JsonFields& fields, SpecialTokens& result) {
  const Json* decoder = fields.find("added_tokens_decoder");
  if (decoder == nullptr || !decoder->is_object()) return;
  for (const auto& [key, value] : decoder->items()) {
    const std::string where = fields.place("added_tokens_decoder." + key);
    AddedToken token = read_added_token(JsonFields(value, where));
    const char* end = key.data() + key.size();
    const auto parsed = std::from_chars(key.data(), end, token.id);
    throw_if<FormatError>(parsed.ec != std::errc() || parsed.ptr != end || token.id < 0,
                          "{}: the key must be a token id", where);
    result.added.push_back(std::move(token));
  }
}

void read_tokenizer_config(const fs::path& folder, SpecialTokens& result) {
  const fs::path path = folder / "tokenizer_config.json";
  const auto json = read_if_present(path);
  if (!json) return;
  const JsonFields fields(*json, "'" + path.string() + "'");
  read_roles(fields, result);
  read_added_decoder(fields, result);
  for (const auto& [key, flag] :
       {std::pair("add_bos_token", &result.add_bos), std::pair("add_eos_token", &result.add_eos),
        std::pair("add_prefix_space", &result.add_prefix_space)}) {
    if (fields.find(key) != nullptr) *flag = fields.boolean(key, false);
  }
  result.split_special_tokens = fields.boolean("split_special_tokens", false);
}

void read_added_tokens(const fs::path& folder, SpecialTokens& result) {
  const fs::path path = folder / "added_tokens.json";
  const auto json = read_if_present(path);
  if (!json) return;
  const JsonFields fields(*json, "'" + path.string() + "'");
  for (const auto& [content, id] : json->items()) {
    const auto same = [&content = content](const AddedToken& token) {
      return token.content == content;
    };
    if (std::ranges::any_of(result.added, same)) continue;
    AddedToken token;
    token.content = content;
    token.id = read_token_id(id, fields.place(content));
    result.added.push_back(std::move(token));
  }
}

std::optional<std::int32_t> config_id(const JsonFields& fields, std::string_view key) {
  const Json* value = fields.find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array()) return read_token_id(*value, fields.place(key));
  if (value->empty()) return std::nullopt;
  return read_token_id(value->front(), fields.place(key));
}

std::optional<std::int32_t> resolve(const std::optional<std::string>& name,
                                    std::optional<std::int32_t> from_config,
                                    const SpecialTokens::Find& token_id, std::int32_t vocab_size) {
  if (name) {
    if (const auto id = token_id(*name)) return id;
  }
  if (from_config && *from_config < vocab_size) return from_config;
  return std::nullopt;
}

}  // namespace

std::optional<std::int32_t> SpecialTokens::bos_id(const Find& token_id,
                                                  std::int32_t vocab_size) const {
  return resolve(bos, config_bos_id, token_id, vocab_size);
}

std::optional<std::int32_t> SpecialTokens::eos_id(const Find& token_id,
                                                  std::int32_t vocab_size) const {
  return resolve(eos, config_eos_id, token_id, vocab_size);
}

SpecialTokens read_special_tokens(const TokenizerFiles& files) {
  const fs::path& folder = files.folder;
  SpecialTokens result;
  read_tokenizer_config(folder, result);
  const fs::path map_path = folder / "special_tokens_map.json";
  if (const auto json = read_if_present(map_path)) {
    read_roles(JsonFields(*json, "'" + map_path.string() + "'"), result);
  }
  read_added_tokens(folder, result);
  if (const auto json = read_if_present(files.config)) {
    const JsonFields fields(*json, "'" + files.config.string() + "'");
    result.config_bos_id = config_id(fields, "bos_token_id");
    result.config_eos_id = config_id(fields, "eos_token_id");
  }
  return result;
}

}  // namespace lime
