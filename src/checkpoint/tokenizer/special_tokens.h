// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitset>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint_files.h"
#include "checkpoint/families/key_reader.h"
#include "checkpoint/tokenizer/pattern_set.h"

namespace lime {

/// A token that is matched as a whole before the text is cut. Fields as in tokenizer.json.
struct AddedToken {
  std::string content;
  std::int32_t id = 0;
  bool special = false;      ///< a control token: decoding leaves it out
  bool normalized = true;    ///< looked for in the normalised text, after the other ones
  bool single_word = false;  ///< only where no word character is beside it
  bool lstrip = false;       ///< swallows the white space on its left
  bool rstrip = false;       ///< swallows the white space on its right
};

/// Returns the string, or the `content` of the object; nothing for any other value.
std::optional<std::string> token_content(const Json& value);

/// Returns a token id: an integer in [0, 2^31 - 2].
/// @throws FormatError  that begins with `where`.
std::int32_t read_token_id(const Json& value, std::string_view where);

/// Returns an added token of the files, without its id.
/// @param fields  the object with `content` and the flags.
AddedToken read_added_token(const KeyReader& fields);

/// Cuts added tokens out of a text as Hugging Face's AddedVocabulary does. Thread-safe.
class AddedTokenFinder {
 public:
  AddedTokenFinder(std::vector<AddedToken> tokens, const std::vector<std::string>& contents);
  AddedTokenFinder() = default;

  bool empty() const { return tokens_.empty(); }

  /// A part of the text: an added token, or ordinary text (then `token` is null).
  struct Part {
    std::string_view text;
    const AddedToken* token = nullptr;
  };
  /// @param skip_special  leaves special tokens as ordinary text.
  std::vector<Part> split(std::string_view text, bool skip_special) const;

 private:
  std::vector<AddedToken> tokens_;
  PatternSet patterns_;
};

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

/// Returns what the content of a tokenizer_config.json says. @throws FormatError
SpecialTokens parse_tokenizer_config(const Json& json, std::string_view where);

}  // namespace lime
