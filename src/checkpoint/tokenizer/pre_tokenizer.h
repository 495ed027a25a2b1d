// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/tokenizer/regex.h"
#include "checkpoint/tokenizer/work_budget.h"
#include "core/json.h"

namespace lime {

/// A part of the text on its way through the pre-tokenizer.
struct TextPiece {
  std::string_view text;
  /// True if it begins at the start of the whole text (used by Metaspace).
  bool at_text_start = false;
};

/// Receives the pieces of a text in order. A piece is valid only during the call.
class PieceConsumer {
 public:
  virtual ~PieceConsumer() = default;
  virtual void accept(const TextPiece& piece) = 0;
  /// Returns true if further pieces are not needed; the pre-tokenizer may then stop.
  virtual bool is_full() const { return false; }
};

/// Cuts a text into pieces that are encoded separately: the `pre_tokenizer` of tokenizer.json.
///
/// Supports ByteLevel, Split, Digits, Punctuation, Whitespace, WhitespaceSplit, BertPreTokenizer,
/// CharDelimiterSplit, UnicodeScripts, FixedLength, Metaspace and Sequence of these. Each stage
/// sees only the piece that the stage before made, so that a pattern cannot look beyond it.
/// Immutable and thread-safe; a thread brings its own Scratch.
class PreTokenizer {
 public:
  /// The memory that a stage needs per thread.
  struct StageScratch {
    std::optional<RegexMatcher> matcher = std::nullopt;
    std::string buffer = {};
    std::vector<std::string_view> parts = {};
  };
  using Scratch = std::vector<StageScratch>;
  /// Hands the parts of a piece to `next`, at least until it is full; parts may be empty.
  using SplitFn = std::function<void(const TextPiece& piece, StageScratch& scratch,
                                     const StageWork& work, PieceConsumer& next)>;
  /// One stage, such as a split by one pattern.
  struct Stage {
    std::string name;  ///< the place in the file, for errors
    std::optional<Regex> regex;
    SplitFn split;
  };

  /// Treats every text as one piece.
  PreTokenizer() = default;
  /// @throws FormatError  if a component is invalid or not supported; names it.
  PreTokenizer(const Json& definition, const std::string& where);

  /// Returns true if a stage is ByteLevel: the vocabulary then uses GPT-2's byte alphabet.
  bool is_byte_level() const { return byte_level_; }

  Scratch make_scratch() const;
  /// Passes the non-empty pieces of `piece`, valid UTF-8, to `consumer`, until it is full.
  /// @param scratch  from make_scratch(). @throws InvalidArgument  if the stages exceed `budget`.
  void split(const TextPiece& piece, Scratch& scratch, WorkBudget& budget,
             PieceConsumer& consumer) const;

 private:
  void add(const Json& definition, const std::string& where);

  std::vector<Stage> stages_;
  bool byte_level_ = false;
};

}  // namespace lime
