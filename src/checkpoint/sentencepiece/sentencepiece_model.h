// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/tokenizer.h"
#include "checkpoint/tokenizer/special_tokens.h"

namespace lime {

/// Wraps a SentencePiece model without exposing types of libsentencepiece.
///
/// libsentencepiece exports the symbols of its own copy of protobuf, and LibTorch loads another:
/// linked into one program, each calls into the other and the program dies before main(). So only
/// our plug-in links libsentencepiece; it is loaded with its own symbols (RTLD_LOCAL,
/// RTLD_DEEPBIND) when the first tokenizer.model is opened. Thread-safe: all methods are const.
class SentencePieceModel {
 public:
  virtual ~SentencePieceModel() = default;

  /// @throws InvalidArgument  if the library refuses the text.
  virtual std::vector<std::int32_t> encode(std::string_view text) const = 0;
  /// Whether the whole text decides on each of its pieces (unigram, whose sums of scores are also
  /// rounded along the text). If not, words that no piece goes across are encoded on their own.
  virtual bool weighs_whole_texts() const = 0;
  /// Joins pieces into text as the library does; empty where it refuses them.
  virtual std::string decode_pieces(const std::vector<std::string>& pieces) const = 0;

  virtual std::int32_t num_pieces() const = 0;
  /// @param id  in [0, num_pieces()).
  virtual const std::string& piece(std::int32_t id) const = 0;
  /// Returns the id of `piece`, or that of the unknown token.
  virtual std::int32_t id_of(std::string_view piece) const = 0;
  virtual bool is_control(std::int32_t id) const = 0;
  virtual bool is_unknown(std::int32_t id) const = 0;
  virtual bool is_byte(std::int32_t id) const = 0;
  /// Returns -1 if the model has none.
  virtual std::int32_t bos_id() const = 0;
  virtual std::int32_t eos_id() const = 0;
};

/// Parses the content of a tokenizer.model; nullptr if it is not one.
/// @throws IoError  if the plug-in is not where the build or the installation put it.
std::unique_ptr<SentencePieceModel> parse_sentencepiece_model(std::string_view serialized);

/// Trains a byte-pair model like LLaMA's: no normalisation, digits apart, bytes for rare
/// characters; `<unk>` 0, `<s>` 1, `</s>` 2. Returns the content of tokenizer.model, equal for
/// equal lines.
/// @param next_line  the next line of the text, without its end; nullopt when there is none left.
/// @throws InvalidArgument  if the text is too short for `vocab_size` pieces. @throws IoError
std::string train_sentencepiece_model(
    std::int32_t vocab_size, const std::function<std::optional<std::string_view>()>& next_line);

/// Reads a SentencePiece model (tokenizer.model) with libsentencepiece. BOS is added unless
/// tokenizer_config.json has `"add_bos_token": false`, EOS if it has `"add_eos_token": true`. Names
/// of control tokens in a text are ordinary text.
/// @throws FormatError  if the file is not a SentencePiece model.
std::unique_ptr<Tokenizer> read_sentencepiece(const std::filesystem::path& path,
                                              const SpecialTokens& special);

}  // namespace lime
