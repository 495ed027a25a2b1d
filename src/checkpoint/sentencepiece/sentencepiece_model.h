// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lime {

/// Wraps a SentencePiece model without exposing types of libsentencepiece.
///
/// libsentencepiece carries a copy of protobuf whose symbols it exports, and LibTorch loads another
/// protobuf: linked into one program, each calls into the other and the program dies before main().
/// So libsentencepiece is linked to a plug-in of ours alone, which is loaded with symbols of its
/// own (RTLD_LOCAL, RTLD_DEEPBIND) when the first tokenizer.model is opened. Thread-safe: all
/// methods are const.
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

/// Trains a byte-pair model as LLaMA's tokenizer is one: no normalisation, digits apart, bytes for
/// characters that are too rare for a piece; <unk> 0, <s> 1, </s> 2. Takes the content of a
/// tokenizer.model from it. The same lines give the same model.
/// @param next_line  the next line of the text, without its end; nullopt when there is none left.
/// @throws InvalidArgument  if the text is too short for `vocab_size` pieces.
/// @throws IoError          as parse_sentencepiece_model().
std::string train_sentencepiece_model(
    std::int32_t vocab_size, const std::function<std::optional<std::string_view>()>& next_line);

}  // namespace lime
