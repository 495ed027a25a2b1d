// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/tokenizer/work_budget.h"
#include "core/json.h"

namespace lime {

/// A part of the text on its way through the pre-tokenizer.
struct TextPiece {
  std::string_view text;
  /// Whether it begins where the whole text begins (Metaspace asks).
  bool at_text_start = false;
};

/// Takes the pieces of a text, one after the other. A piece is valid during the call only.
class PieceConsumer {
 public:
  virtual ~PieceConsumer() = default;
  virtual void accept(const TextPiece& piece) = 0;
  /// True once further pieces are of no use: the pre-tokenizer may then stop.
  virtual bool is_full() const { return false; }
};

/// Cuts a text into the pieces that are encoded on their own: the `pre_tokenizer` of
/// tokenizer.json.
///
/// Supports ByteLevel, Split, Digits, Punctuation, Whitespace, WhitespaceSplit, Metaspace and
/// Sequence of these. Each stage sees only the piece that the stage before made, so that a pattern
/// cannot look beyond it. Immutable and thread-safe; a thread brings its own Scratch.
class PreTokenizer {
 public:
  /// One stage, such as the splitting by one pattern.
  class Stage;
  /// The memory that a stage needs per thread.
  class StageScratch;
  struct Scratch {
    std::vector<std::unique_ptr<StageScratch>> stages;
    Scratch();
    ~Scratch();
    Scratch(Scratch&&) noexcept;
    Scratch& operator=(Scratch&&) noexcept;
  };

  /// Takes every text as one piece.
  PreTokenizer();
  /// @param definition  null stands for none.
  /// @throws FormatError  that names the component which is broken or not supported.
  PreTokenizer(const Json& definition, const std::string& where);
  ~PreTokenizer();
  PreTokenizer(PreTokenizer&&) noexcept;
  PreTokenizer& operator=(PreTokenizer&&) noexcept;

  /// Whether ByteLevel is among the stages: the vocabulary is then spelt in GPT-2's byte alphabet.
  bool is_byte_level() const { return byte_level_; }

  Scratch make_scratch() const;
  /// Hands the pieces of `piece`, none of them empty, to `consumer` in order, until it is full.
  /// @param piece    valid UTF-8.
  /// @param scratch  from make_scratch() of this object.
  /// @param budget   of the whole text. @throws InvalidArgument  if the stages exceed it.
  void split(const TextPiece& piece, Scratch& scratch, WorkBudget& budget,
             PieceConsumer& consumer) const;

 private:
  void add(const Json& definition, const std::string& where);

  std::vector<std::unique_ptr<const Stage>> stages_;
  bool byte_level_ = false;
};

}  // namespace lime
