// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint_files.h"
#include "checkpoint/tokenizer/added_tokens.h"

namespace lime {

/// Collects the special tokens from the files next to the tokenizer's own: tokenizer_config.json,
/// special_tokens_map.json, added_tokens.json and config.json. Any of them may be missing.
struct SpecialTokens {
  std::optional<std::string> bos;  ///< the first file in the order above that names it
  std::optional<std::string> eos;
  std::optional<bool> add_bos;  ///< tokenizer_config.json: add_bos_token
  std::optional<bool> add_eos;
  std::optional<bool> add_prefix_space;
  /// tokenizer_config.json: EncodeOptions::split_special_tokens holds for every text.
  bool split_special_tokens = false;
  /// Tokens with ids, from added_tokens_decoder of tokenizer_config.json and added_tokens.json.
  std::vector<AddedToken> added;
  /// Names of special tokens of any role (bos_token, eos_token, pad_token, ...), without ids.
  std::vector<std::string> names;
  std::optional<std::int32_t> config_bos_id;  ///< config.json
  std::optional<std::int32_t> config_eos_id;  ///< config.json; the first of a list

  using Find = std::function<std::optional<std::int32_t>(std::string_view)>;
  /// Returns the id of `bos` or of config.json, the first that names an existing token.
  std::optional<std::int32_t> bos_id(const Find& token_id, std::int32_t vocab_size) const;
  std::optional<std::int32_t> eos_id(const Find& token_id, std::int32_t vocab_size) const;
};

/// @throws FormatError  if a file is there but broken.
SpecialTokens read_special_tokens(const TokenizerFiles& files);

}  // namespace lime
