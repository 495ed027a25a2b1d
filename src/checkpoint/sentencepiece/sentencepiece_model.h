// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lime {

/// What we use of a SentencePiece model; no type of libsentencepiece shows.
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
  /// Joins pieces into text as the library does; empty where it refuses them.
  virtual std::string decode_pieces(const std::vector<std::string>& pieces) const = 0;

  virtual std::int32_t num_pieces() const = 0;
  /// @param id  in [0, num_pieces()).
  virtual const std::string& piece(std::int32_t id) const = 0;
  /// The id of `piece`, or that of the unknown token.
  virtual std::int32_t id_of(std::string_view piece) const = 0;
  virtual bool is_control(std::int32_t id) const = 0;
  virtual bool is_unknown(std::int32_t id) const = 0;
  virtual bool is_byte(std::int32_t id) const = 0;
  /// -1 where the model has none.
  virtual std::int32_t bos_id() const = 0;
  virtual std::int32_t eos_id() const = 0;
};

/// Parses the content of a tokenizer.model; nullptr if it is not one.
/// @throws IoError  if the plug-in is not where the build or the installation put it.
std::unique_ptr<SentencePieceModel> parse_sentencepiece_model(std::string_view serialized);

}  // namespace lime
