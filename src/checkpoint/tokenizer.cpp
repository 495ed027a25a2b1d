// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tokenizer.h"

#include "checkpoint/checkpoint_files.h"
#include "checkpoint/gguf/gguf_files.h"
#include "checkpoint/gguf/gguf_tokenizer.h"
#include "checkpoint/sentencepiece/sentencepiece_model.h"
#include "checkpoint/tokenizer/special_tokens.h"
#include "checkpoint/tokenizer/tokenizer_json.h"
#include "core/errors.h"
#include "core/files/atomic_file.h"
#include "core/utf8.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kReplacement = "\uFFFD";

/// A broken character at the start of a text.
struct BrokenCharacter {
  std::size_t length = 1;  ///< bytes that one U+FFFD stands for (Unicode, section 3.9)
  bool may_go_on = false;  ///< the text ends before it is clear that the character is broken
};

BrokenCharacter inspect_broken(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t expected = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
  // A prefix is sound if some continuation makes it a character; 0x80, 0x90 or 0xA0 with 0xBF
  // reach every range that the second byte may lie in.
  BrokenCharacter result;
  for (std::size_t length = 1; length < expected && length <= text.size(); ++length) {
    bool sound = false;
    for (const char second : {'\x80', '\x90', '\xA0'}) {
      std::string completed(text.substr(0, length));
      if (length == 1) completed += second;
      completed.resize(expected, '\x80');
      sound = sound || !first_invalid_utf8(completed);
    }
    if (!sound) return result;
    result.length = length;
    result.may_go_on = length == text.size();
  }
  return result;
}

/// Moves whole characters, and U+FFFD for broken ones; unless `flush`, not an unfinished one.
std::string take_characters(std::string& pending, bool flush) {
  std::string result;
  std::string_view rest = pending;
  while (!rest.empty()) {
    const std::size_t sound = first_invalid_utf8(rest).value_or(rest.size());
    result += rest.substr(0, sound);
    rest.remove_prefix(sound);
    if (rest.empty()) break;
    const BrokenCharacter broken = inspect_broken(rest);
    if (broken.may_go_on && !flush) break;
    result += kReplacement;
    rest.remove_prefix(broken.length);
  }
  pending = std::string(rest);
  return result;
}

}  // namespace

std::vector<std::int32_t> Tokenizer::encode(std::string_view text,
                                            const EncodeOptions& options) const {
  if (const auto offset = first_invalid_utf8(text)) {
    throw InvalidArgument("tokenizer: text must be UTF-8, got an invalid byte at offset {}",
                          *offset);
  }
  std::vector<std::int32_t> ids = encode_text(text, options);
  if (!options.add_special_tokens) return ids;
  ids.insert(ids.begin(), prefix_ids_.begin(), prefix_ids_.end());
  ids.insert(ids.end(), suffix_ids_.begin(), suffix_ids_.end());
  return ids;
}

std::vector<std::int32_t> Tokenizer::with_prefix(std::vector<std::int32_t> ids) const {
  if (!spells_prefix(ids, prefix_ids_)) {
    ids.insert(ids.begin(), prefix_ids_.begin(), prefix_ids_.end());
  }
  return ids;
}

bool spells_prefix(std::span<const std::int32_t> text_ids, std::span<const std::int32_t> prefix) {
  return !text_ids.empty() && !prefix.empty() && text_ids.front() == prefix.front();
}

void Tokenizer::check_id(std::int32_t id) const {
  if (id >= 0 && id < vocab_size()) return;
  throw InvalidArgument("tokenizer: token ids must be in [0, {}), got {}", vocab_size(), id);
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids,
                              const DecodeOptions& options) const {
  std::string bytes;
  bool at_text_start = options.at_text_start;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= vocab_size()) {
      throw InvalidArgument("tokenizer: token ids must be in [0, {}), got {} at position {}",
                            vocab_size(), ids[i], i);
    }
    if (options.skip_special_tokens && is_special(ids[i])) continue;
    bytes += next_piece(ids[i], at_text_start);
  }
  return take_characters(bytes, /*flush=*/true);
}

std::string Tokenizer::next_piece(std::int32_t id, bool& at_text_start) const {
  std::string bytes = piece(id, at_text_start);
  at_text_start = at_text_start && drops_all_leading_spaces_ && bytes.empty();
  return bytes;
}

std::string Tokenizer::token_text(std::int32_t id) const {
  constexpr std::size_t kMaxBytes = 200;
  return printable(piece(id), kMaxBytes);
}

StreamingDecoder::StreamingDecoder(const Tokenizer& tokenizer, const DecodeOptions& options)
    : tokenizer_(tokenizer), options_(options), at_text_start_(options.at_text_start) {}

std::string StreamingDecoder::push(std::int32_t id) {
  if (options_.skip_special_tokens && tokenizer_.is_special(id)) return {};
  pending_ += tokenizer_.next_piece(id, at_text_start_);
  return take_characters(pending_, /*flush=*/false);
}

std::string StreamingDecoder::finish() {
  at_text_start_ = options_.at_text_start;
  return take_characters(pending_, /*flush=*/true);
}

std::unique_ptr<Tokenizer> load_tokenizer(const fs::path& checkpoint_folder) {
  const TokenizerFiles files = find_tokenizer(checkpoint_folder);
  if (is_gguf_file(files.folder)) {
    return read_gguf_tokenizer(open_gguf(files.folder).header, files.folder.string());
  }
  throw_if<IoError>(!fs::is_directory(checkpoint_folder),
                    "tokenizer: '{}' must be a folder or a GGUF file{}", checkpoint_folder.string(),
                    path_exists(checkpoint_folder) ? "" : hub_hint(checkpoint_folder));
  const auto has = [&](const char* name) { return path_exists(files.folder / name); };
  const bool gpt2 = has("vocab.json") && has("merges.txt");
  throw_if<IoError>(
      !has("tokenizer.json") && !has("tokenizer.model") && !gpt2,
      "tokenizer: '{}' must contain tokenizer.json, tokenizer.model, or vocab.json with "
      "merges.txt, found none of them; copy them from the original checkpoint",
      checkpoint_folder.string());
  const SpecialTokens special = read_special_tokens(files);
  if (has("tokenizer.json")) return read_tokenizer_json(files.folder / "tokenizer.json", special);
  if (has("tokenizer.model")) return read_sentencepiece(files.folder / "tokenizer.model", special);
  return read_gpt2_files(files.folder / "vocab.json", files.folder / "merges.txt", special);
}

}  // namespace lime
