// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tokenizer/special_tokens.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "checkpoint/tokenizer/unicode.h"
#include "core/errors.h"
#include "core/utf8.h"

namespace lime {
namespace {

/// PatternSet compares so many bytes at each place of a text.
constexpr std::size_t kLongestToken = 1024;

bool is_space(std::int32_t code) {
  static constexpr CodeRange kSpaces[] = {
      {0x09, 0x0D},     {0x20, 0x20},     {0x85, 0x85},     {0xA0, 0xA0},     {0x1680, 0x1680},
      {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}};
  return is_in(kSpaces, code);
}

/// `\w` of Rust's regex crate: Alphabetic, marks, decimal digits, connectors and joiners.
bool is_word(std::int32_t code) {
  static constexpr CodeRange kJoinersAndCircledLetters[] = {{0x200C, 0x200D},
                                                            {0x24B6, 0x24E9},
                                                            {0x1F130, 0x1F149},
                                                            {0x1F150, 0x1F169},
                                                            {0x1F170, 0x1F189}};
  const utf8proc_category_t category = utf8proc_category(code);
  return is_in(kJoinersAndCircledLetters, code) ||
         (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NL) ||
         category == UTF8PROC_CATEGORY_PC;
}

std::size_t last_character(std::string_view text) {
  std::size_t at = text.size() - 1;
  while (at > 0 && is_continuation(text[at])) --at;
  return at;
}

bool starts_with_word(std::string_view text) {
  return !text.empty() && is_word(character_at(text, 0).code);
}

bool ends_with_word(std::string_view text) {
  return !text.empty() && is_word(character_at(text, last_character(text)).code);
}

std::size_t leading_space(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && is_space(character_at(text, at).code)) at = character_end(text, at);
  return at;
}

/// Returns the start of the white space at the end of `text`, at least `from`.
std::size_t trailing_space(std::string_view text, std::size_t from) {
  while (text.size() > from && is_space(character_at(text, last_character(text)).code)) {
    text = text.substr(0, last_character(text));
  }
  return text.size();
}

}  // namespace

std::optional<std::string> token_content(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_object()) return std::nullopt;
  const auto content = value.find("content");
  if (content == value.end() || !content->is_string()) return std::nullopt;
  return content->get<std::string>();
}

std::int32_t read_token_id(const Json& value, std::string_view where) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max() - 1;
  const bool too_large = value.is_number_unsigned() && value.get<std::uint64_t>() > kLargest;
  if (!value.is_number_integer() || too_large || value.get<std::int64_t>() < 0) {
    throw FormatError("{} must be an integer in [0, {}], got {}", where, kLargest,
                      printable(value.dump()));
  }
  return value.get<std::int32_t>();
}

AddedToken read_added_token(const KeyReader& fields) {
  AddedToken token;
  token.content = fields.required_text("content");
  throw_if<FormatError>(token.content.size() > kLongestToken,
                        "{} must have at most {} bytes, got {}", fields.place("content"),
                        kLongestToken, token.content.size());
  token.special = fields.boolean("special", false);
  token.normalized = fields.boolean("normalized", !token.special);
  token.single_word = fields.boolean("single_word", false);
  token.lstrip = fields.boolean("lstrip", false);
  token.rstrip = fields.boolean("rstrip", false);
  return token;
}

AddedTokenFinder::AddedTokenFinder(std::vector<AddedToken> tokens,
                                   const std::vector<std::string>& contents)
    : tokens_(std::move(tokens)) {
  for (std::size_t i = 0; i < tokens_.size(); ++i) patterns_.add(contents[i], i);
}

std::vector<AddedTokenFinder::Part> AddedTokenFinder::split(std::string_view text,
                                                            bool skip_special) const {
  std::vector<Part> parts;
  std::size_t covered = 0;
  std::size_t search_from = 0;
  while (!empty()) {
    const auto match = patterns_.find(text, search_from);
    if (!match) break;
    search_from = match->end;
    const AddedToken& token = tokens_[match->value];
    if (skip_special && token.special) continue;
    const std::string_view before = text.substr(0, match->begin);
    const std::string_view after = text.substr(match->end);
    if (token.single_word && (ends_with_word(before) || starts_with_word(after))) continue;
    std::size_t begin = match->begin;
    std::size_t end = match->end;
    if (token.lstrip) begin = std::max(trailing_space(before, covered), covered);
    if (token.rstrip) end += leading_space(after);
    end = std::max(begin, end);
    if (begin > covered) parts.push_back({.text = text.substr(covered, begin - covered)});
    parts.push_back({.text = text.substr(begin, end - begin), .token = &token});
    covered = end;
  }
  if (covered < text.size()) parts.push_back({.text = text.substr(covered)});
  return parts;
}

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
void read_roles(const KeyReader& fields, SpecialTokens& result) {
  for (const std::string_view role : kRoles) {
    const Json* value = fields.find(role);
    if (value == nullptr) continue;
    const auto content = token_content(*value);
    throw_if<FormatError>(!content,
                          "{} must be a string or an object with a string 'content', got {}",
                          fields.place(role), printable(value->dump()));
    add_name(content, result.names);
    if (role == "bos_token" && !result.bos) result.bos = content;
    if (role == "eos_token" && !result.eos) result.eos = content;
  }
  const Json* additional = fields.find("additional_special_tokens");
  if (additional == nullptr || !additional->is_array()) return;
  for (const Json& token : *additional) add_name(token_content(token), result.names);
}

void read_added_decoder(const KeyReader& fields, SpecialTokens& result) {
  const Json* decoder = fields.find("added_tokens_decoder");
  if (decoder == nullptr || !decoder->is_object()) return;
  for (const auto& [key, value] : decoder->items()) {
    const std::string where = fields.place("added_tokens_decoder." + key);
    AddedToken token = read_added_token(KeyReader(value, where, KeyStyle::kDotted));
    const char* end = key.data() + key.size();
    const auto parsed = std::from_chars(key.data(), end, token.id);
    throw_if<FormatError>(parsed.ec != std::errc() || parsed.ptr != end || token.id < 0,
                          "{}: the key must be a token id", where);
    result.added.push_back(std::move(token));
  }
}

void read_tokenizer_config(const KeyReader& fields, SpecialTokens& result) {
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
  const KeyReader fields(*json, "'" + path.string() + "'", KeyStyle::kDotted);
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

std::optional<std::int32_t> config_id(const KeyReader& fields, std::string_view key) {
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

SpecialTokens parse_tokenizer_config(const Json& json, std::string_view where) {
  SpecialTokens result;
  read_tokenizer_config(KeyReader(json, std::string(where), KeyStyle::kDotted), result);
  return result;
}

SpecialTokens read_special_tokens(const TokenizerFiles& files) {
  const fs::path& folder = files.folder;
  SpecialTokens result;
  const fs::path config_path = folder / "tokenizer_config.json";
  if (const auto json = read_if_present(config_path)) {
    result = parse_tokenizer_config(*json, "'" + config_path.string() + "'");
  }
  const fs::path map_path = folder / "special_tokens_map.json";
  if (const auto json = read_if_present(map_path)) {
    read_roles(KeyReader(*json, "'" + map_path.string() + "'", KeyStyle::kDotted), result);
  }
  read_added_tokens(folder, result);
  if (const auto json = read_if_present(files.config)) {
    const KeyReader fields(*json, "'" + files.config.string() + "'", KeyStyle::kDotted);
    result.config_bos_id = config_id(fields, "bos_token_id");
    result.config_eos_id = config_id(fields, "eos_token_id");
  }
  return result;
}

}  // namespace lime
