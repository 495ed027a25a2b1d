// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lime {

struct EncodeOptions {
  /// Adds the tokens that the checkpoint's files put around a text (BOS, EOS), as Hugging Face's
  /// argument of this name does; which ones, if any: Tokenizer::prefix_ids() and suffix_ids().
  bool add_special_tokens = false;
  /// Cuts a special token that is spelt out in the text, such as `<|endoftext|>`, into ordinary
  /// tokens instead of taking it for the special one (Hugging Face: `split_special_tokens`).
  bool split_special_tokens = false;
  /// Returns only this many ids of the text (not counting those around it), as without a limit.
  std::size_t max_ids = std::numeric_limits<std::size_t>::max();
};

struct DecodeOptions {
  /// Omits BOS, EOS and the other special tokens.
  bool skip_special_tokens = true;
  /// The ids begin a text: tokenizers that put a space in front of every text take it away again.
  /// False for ids that continue earlier ones, whose leading space is then kept.
  bool at_text_start = true;
};

/// Converts text to token ids and back, as defined by the files of a checkpoint folder.
///
/// Ids are those of Hugging Face's `tokenizers` (or of libsentencepiece for tokenizer.model). Const
/// and thread-safe; encoding is linear in the text (times the log of the longest word).
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  /// Returns the ids of `text`, each in [0, vocab_size()).
  /// @throws InvalidArgument  if `text` is not UTF-8; names the byte offset.
  std::vector<std::int32_t> encode(std::string_view text, const EncodeOptions& options = {}) const;

  /// Returns the text of `ids`. Bytes that form no character become U+FFFD.
  /// @throws InvalidArgument  if an id is unknown; names it and its place.
  std::string decode(std::span<const std::int32_t> ids, const DecodeOptions& options = {}) const;

  /// Returns the bytes that `id` adds to a text, which may be part of a character.
  /// @param at_text_start  see DecodeOptions. @throws InvalidArgument  if the id is unknown.
  virtual std::string piece(std::int32_t id, bool at_text_start = false) const = 0;

  /// Returns the token on one line; control characters and broken characters are escaped.
  /// @throws InvalidArgument  if the id is unknown.
  std::string token_text(std::int32_t id) const;

  /// Returns the id of the token that the files spell `token` (byte-level files spell " is" "Ġis").
  virtual std::optional<std::int32_t> token_id(std::string_view token) const = 0;

  /// Returns true if `id` is a special (control) token, which decode() can omit.
  virtual bool is_special(std::int32_t id) const = 0;

  /// Returns the largest id plus one. The model's embedding may have more rows.
  virtual std::int32_t vocab_size() const = 0;

  /// Returns "byte-level-bpe", "bpe", "unigram", "wordpiece", "word-level" or "sentencepiece".
  virtual std::string_view kind() const = 0;

  /// Beginning-of-text token as tokenizer_config.json, special_tokens_map.json, tokenizer.model or
  /// config.json names it (the first that does), if any. Encoding may still not add it.
  std::optional<std::int32_t> bos_id() const { return bos_id_; }
  /// End-of-text token, from the same places. The first one where config.json lists several.
  std::optional<std::int32_t> eos_id() const { return eos_id_; }
  /// Returns the ids that EncodeOptions::add_special_tokens puts before and after a text.
  std::span<const std::int32_t> prefix_ids() const { return prefix_ids_; }
  std::span<const std::int32_t> suffix_ids() const { return suffix_ids_; }

  /// Returns the ids of a text with prefix_ids() before them, unless it spells_prefix().
  std::vector<std::int32_t> with_prefix(std::vector<std::int32_t> ids) const;

  /// Returns the SHA-256 of the tokenizer's file, or of the digests of vocab.json and merges.txt.
  const std::string& sha256() const { return sha256_; }

 protected:
  Tokenizer() = default;

  /// Returns the ids of valid UTF-8 without prefix_ids() and suffix_ids().
  virtual std::vector<std::int32_t> encode_text(std::string_view text,
                                                const EncodeOptions& options) const = 0;
  void check_id(std::int32_t id) const;

  /// Every token before the first visible character loses its leading space, not only the first
  /// token: SentencePiece's `remove_extra_whitespaces`.
  bool drops_all_leading_spaces_ = false;
  std::optional<std::int32_t> bos_id_;
  std::optional<std::int32_t> eos_id_;
  std::vector<std::int32_t> prefix_ids_;
  std::vector<std::int32_t> suffix_ids_;
  std::string sha256_;

 private:
  friend class StreamingDecoder;
  /// Returns the bytes of the next id of a text, and whether the following id is still at its
  /// start.
  std::string next_piece(std::int32_t id, bool& at_text_start) const;
};

/// Returns true if a text begins with the first token of `prefix` because it spells it out, as in
/// `<bos>Once`. Such a text gets no second one, as in lm-evaluation-harness. transformers adds one.
bool spells_prefix(std::span<const std::int32_t> text_ids, std::span<const std::int32_t> prefix);

/// Decodes ids one by one, as generation makes them, and hands out whole characters only:
///
///   StreamingDecoder decoder(tokenizer);
///   for (const std::int32_t id : ids) text += decoder.push(id);
///   text += decoder.finish();   // now equal to tokenizer.decode(ids)
///
/// Keeps a reference to the tokenizer. Not thread-safe.
class StreamingDecoder {
 public:
  explicit StreamingDecoder(const Tokenizer& tokenizer, const DecodeOptions& options = {});

  /// Returns the text that `id` completes; empty while a character is unfinished.
  /// @throws InvalidArgument  if the id is unknown.
  std::string push(std::int32_t id);
  /// Returns the rest: U+FFFD for an unfinished character. Ready for a new text afterwards.
  std::string finish();

 private:
  const Tokenizer& tokenizer_;
  DecodeOptions options_;
  bool at_text_start_ = true;
  std::string pending_;
};

/// Reads the tokenizer that find_tokenizer() finds: that of a GGUF file, or tokenizer.json, else
/// tokenizer.model (SentencePiece), else vocab.json with merges.txt (GPT-2).
/// @throws IoError, FormatError  if there is none, or a file is broken or not supported.
std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& checkpoint_folder);

}  // namespace lime
