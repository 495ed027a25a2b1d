// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tokenizer/pre_tokenizer.h"

#include <algorithm>
#include <span>

#include "checkpoint/families/key_reader.h"
#include "checkpoint/tokenizer/oniguruma.h"
#include "checkpoint/tokenizer/unicode.h"
#include "core/errors.h"
#include "core/options.h"

namespace lime {
namespace {

using StageScratch = PreTokenizer::StageScratch;

/// The pattern that ByteLevel carries in itself, from GPT-2's encoder.py.
constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// ASCII's symbols and Unicode's punctuation as the Punctuation component counts it. The tables of
/// `tokenizers` 0.23.3 are of Unicode 8: they have two characters that are symbols today, and lack
/// those that PCRE2 10.42 has added. Asked of the component, code point by code point.
constexpr std::string_view kPunctuation =
    R"([\p{P}\x{166D}\x{111C9}$+<=>^`|~](?<![)"
    R"(\x{61D}\x{9FD}\x{A76}\x{C77}\x{C84}\x{1B7D}-\x{1B7E}\x{2E43}-\x{2E4F}\x{2E52}-\x{2E5D})"
    R"(\x{10EAD}\x{10F55}-\x{10F59}\x{10F86}-\x{10F89}\x{1144B}-\x{1144F}\x{1145A}-\x{1145B})"
    R"(\x{1145D}\x{11660}-\x{1166C}\x{116B9}\x{1183B}\x{11944}-\x{11946}\x{119E2})"
    R"(\x{11A3F}-\x{11A46}\x{11A9A}-\x{11A9C}\x{11A9E}-\x{11AA2}\x{11C41}-\x{11C45})"
    R"(\x{11C70}-\x{11C71}\x{11EF7}-\x{11EF8}\x{11FFF}\x{12FF1}-\x{12FF2}\x{16E97}-\x{16E9A})"
    R"(\x{16FE2}\x{1E95E}-\x{1E95F})"
    R"(]))";

/// `\w` and `\s` here are those of Rust's regex, whose words include the two joiners.
constexpr std::string_view kWordOrSymbols =
    R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}]+)"
    R"(|[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}\s]+)";

/// Selects the treatment of matches of a splitting pattern (SplitDelimiterBehavior).
enum class SplitBehavior { kIsolated, kRemoved, kMergedWithPrevious, kMergedWithNext, kContiguous };

/// Selects when Metaspace puts its character in front of a piece.
enum class Prepend { kAlways, kFirst, kNever };

/// Calls `found(part, is_match)` for matches and the text between them, until `is_full()`.
template <typename Found, typename IsFull>
void for_each_part(std::string_view text, RegexMatcher& matcher, const StageWork& work,
                   const Found& found, const IsFull& is_full) {
  std::size_t covered = 0;
  std::size_t search_from = 0;
  while (search_from < text.size()) {
    if (is_full()) return;
    const auto match = matcher.find(text, search_from, work);
    if (!match) break;
    if (match->begin > covered) found(text.substr(covered, match->begin - covered), false);
    found(text.substr(match->begin, match->end - match->begin), true);
    covered = match->end;
    search_from = match->end > match->begin ? match->end : character_end(text, match->end);
  }
  if (covered < text.size()) found(text.substr(covered), false);
}

TextPiece part_of(const TextPiece& piece, std::string_view part) {
  return {.text = part, .at_text_start = piece.at_text_start && part.data() == piece.text.data()};
}

void split_and_merge(SplitBehavior behavior, bool invert, const TextPiece& piece,
                     StageScratch& scratch, const StageWork& work, PieceConsumer& next) {
  std::vector<std::string_view>& parts = scratch.parts;
  parts.clear();
  bool previous_match = false;
  bool joins_next = false;
  const auto add_part = [&](std::string_view part, bool matched) {
    const bool is_match = matched != invert;
    bool joins = false;
    switch (behavior) {
      case SplitBehavior::kContiguous: joins = is_match == previous_match; break;
      case SplitBehavior::kMergedWithPrevious: joins = is_match && !previous_match; break;
      default:  // kMergedWithNext: of several matches in a row the last one joins what follows
        joins = joins_next && !is_match;
        joins_next = is_match;
        break;
    }
    if (joins && !parts.empty()) {
      parts.back() = {parts.back().data(), parts.back().size() + part.size()};
    } else {
      parts.push_back(part);
    }
    previous_match = is_match;
  };
  for_each_part(piece.text, *scratch.matcher, work, add_part, [] { return false; });
  for (const std::string_view part : parts) {
    if (next.is_full()) return;
    next.accept(part_of(piece, part));
  }
}

/// Cuts a piece at the matches of the stage's pattern.
/// @param invert  takes the text between the matches for the matches.
PreTokenizer::SplitFn cut_at_matches(SplitBehavior behavior, bool invert) {
  const bool keeps_matches = behavior == SplitBehavior::kIsolated;
  if (!keeps_matches && behavior != SplitBehavior::kRemoved) {
    return std::bind_front(split_and_merge, behavior, invert);
  }
  return [keeps_matches, invert](const TextPiece& piece, StageScratch& scratch,
                                 const StageWork& work, PieceConsumer& next) {
    for_each_part(
        piece.text, *scratch.matcher, work,
        [&](std::string_view part, bool is_match) {
          if (keeps_matches || is_match == invert) next.accept(part_of(piece, part));
        },
        [&] { return next.is_full(); });
  };
}

/// Cuts where the script changes (UnicodeScripts). Characters without a script join the part
/// before.
void cut_at_scripts(const TextPiece& piece, StageScratch& scratch, const StageWork& work,
                    PieceConsumer& next) {
  std::size_t begin = piece.text.size();
  int script = 0;
  for (std::size_t at = 0; at < piece.text.size() && !next.is_full();) {
    const auto match = scratch.matcher->find(piece.text, at, work);
    if (!match) break;
    at = match->end;
    if (match->group == 0 || match->group == script) continue;
    if (script != 0) next.accept(part_of(piece, piece.text.substr(begin, match->begin - begin)));
    script = match->group;
    begin = match->begin;
  }
  next.accept(part_of(piece, piece.text.substr(begin)));
}

/// Puts a space before a piece that has none (`add_prefix_space` of ByteLevel).
void prepend_space(const TextPiece& piece, StageScratch& scratch, const StageWork& work,
                   PieceConsumer& next) {
  if (piece.text.starts_with(' ')) return next.accept(piece);
  work.take_bytes(piece.text.size() + 1);
  scratch.buffer.assign(1, ' ');
  scratch.buffer += piece.text;
  next.accept({.text = scratch.buffer, .at_text_start = piece.at_text_start});
}

/// Writes spaces as a visible character, puts one in front, and may cut before each.
struct Metaspace {
  void operator()(const TextPiece& piece, StageScratch& scratch, const StageWork& work,
                  PieceConsumer& next) const {
    const auto spaces = std::ranges::count(piece.text, ' ');
    work.take_bytes(piece.text.size() +
                    (static_cast<std::uint64_t>(spaces) + 1) * replacement.size());
    std::string& text = scratch.buffer;
    text.clear();
    const bool prepends =
        prepend == Prepend::kAlways || (prepend == Prepend::kFirst && piece.at_text_start);
    const bool has_space = piece.text.starts_with(' ') || piece.text.starts_with(replacement);
    if (prepends && !has_space) text += replacement;
    for (std::size_t at = 0; at < piece.text.size();) {
      const std::size_t space = std::min(piece.text.find(' ', at), piece.text.size());
      text += piece.text.substr(at, space - at);
      if (space < piece.text.size()) text += replacement;
      at = space + 1;
    }
    if (!cuts) return next.accept({.text = text, .at_text_start = piece.at_text_start});
    const std::string_view whole = text;
    for (std::size_t begin = 0; begin < whole.size() && !next.is_full();) {
      const std::size_t end = std::min(whole.find(replacement, begin + 1), whole.size());
      next.accept({.text = whole.substr(begin, end - begin),
                   .at_text_start = piece.at_text_start && begin == 0});
      begin = end;
    }
  }

  std::string replacement;
  Prepend prepend;
  bool cuts;
};

SplitBehavior read_behavior(const KeyReader& fields) {
  const std::string name = fields.text("behavior").value_or("Isolated");
  using enum SplitBehavior;
  for (const auto& [behavior, known] :
       enum_table<SplitBehavior>({{kIsolated, "Isolated"},
                                  {kRemoved, "Removed"},
                                  {kMergedWithPrevious, "MergedWithPrevious"},
                                  {kMergedWithNext, "MergedWithNext"},
                                  {kContiguous, "Contiguous"}})) {
    if (name == known) return behavior;
  }
  throw FormatError("{}: behavior '{}' is not supported", fields.where(), name);
}

/// Files before tokenizers 0.14 have add_prefix_space instead of prepend_scheme.
Prepend read_prepend(const KeyReader& fields) {
  const char* const older = fields.boolean("add_prefix_space", true) ? "always" : "never";
  const std::string scheme = fields.text("prepend_scheme").value_or(older);
  using enum Prepend;
  for (const auto& [prepend, known] :
       enum_table<Prepend>({{kAlways, "always"}, {kFirst, "first"}, {kNever, "never"}})) {
    if (scheme == known) return prepend;
  }
  throw FormatError("{}: prepend_scheme '{}' is not supported", fields.where(), scheme);
}

Metaspace read_metaspace(const KeyReader& fields) {
  const Prepend prepend = read_prepend(fields);
  const std::string replacement = fields.text("replacement").value_or("\u2581");
  if (replacement.empty()) throw FormatError("{}.replacement must not be empty", fields.where());
  return {replacement, prepend, fields.boolean("split", true)};
}

/// Passes pieces through the stages from one on.
class StageChain : public PieceConsumer {
 public:
  StageChain(std::span<const PreTokenizer::Stage> stages, std::span<StageScratch> scratch,
             WorkBudget& budget, PieceConsumer& consumer)
      : stages_(stages), scratch_(scratch), budget_(budget), consumer_(consumer) {}

  void accept(const TextPiece& piece) override {
    if (piece.text.empty()) return;
    if (stages_.empty()) return consumer_.accept(piece);
    StageChain rest(stages_.subspan(1), scratch_.subspan(1), budget_, consumer_);
    const PreTokenizer::Stage& stage = stages_.front();
    stage.split(piece, scratch_.front(), StageWork(budget_, stage.name), rest);
  }

  bool is_full() const override { return consumer_.is_full(); }

 private:
  std::span<const PreTokenizer::Stage> stages_;
  std::span<StageScratch> scratch_;
  WorkBudget& budget_;
  PieceConsumer& consumer_;
};

}  // namespace

PreTokenizer::PreTokenizer(const Json& definition, const std::string& where) {
  if (!definition.is_null()) add(definition, where);
}

void PreTokenizer::add(const Json& definition, const std::string& where) {
  const KeyReader fields(definition, where, KeyStyle::kDotted);
  const std::string type = fields.required_text("type");
  const std::string name = fmt::format("{}: type '{}'", where, type);
  const auto add_stage = [&](SplitFn split, std::optional<Regex> regex = std::nullopt) {
    stages_.push_back({.name = name, .regex = std::move(regex), .split = std::move(split)});
  };
  const auto add_split = [&](std::string_view pattern, SplitBehavior behavior,
                             bool invert = false) {
    add_stage(cut_at_matches(behavior, invert), Regex(pattern));
  };
  if (byte_level_) throw FormatError("{}: '{}' after ByteLevel is not supported", where, type);
  if (type == "Sequence") {
    for (const Json& part : fields.required_array("pretokenizers")) add(part, where);
  } else if (type == "ByteLevel") {
    byte_level_ = true;
    if (fields.boolean("add_prefix_space", true)) add_stage(prepend_space);
    if (fields.boolean("use_regex", true)) add_split(kGpt2Pattern, SplitBehavior::kIsolated);
  } else if (type == "Split") {
    const KeyReader pattern = fields.required_object("pattern");
    const auto literal = pattern.text("String");
    const std::string regex = literal ? quote_pattern(*literal) : pattern.required_text("Regex");
    const SplitBehavior behavior = read_behavior(fields);
    try {
      add_split(regex, behavior, fields.boolean("invert", false));
    } catch (const FormatError& error) {
      throw FormatError("{}: {}", where, error.what());
    }
  } else if (type == "Digits") {
    const bool individual = fields.boolean("individual_digits", false);
    add_split(R"(\p{N})", individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous);
  } else if (type == "Punctuation") {
    add_split(kPunctuation, read_behavior(fields));
  } else if (type == "Whitespace") {
    add_split(kWordOrSymbols, SplitBehavior::kRemoved, /*invert=*/true);
  } else if (type == "BertPreTokenizer") {
    add_split(R"(\s)", SplitBehavior::kRemoved);
    add_split(kPunctuation, SplitBehavior::kIsolated);
  } else if (type == "CharDelimiterSplit") {
    add_split(quote_pattern(fields.required_text("delimiter")), SplitBehavior::kRemoved);
  } else if (type == "UnicodeScripts") {
    add_stage(cut_at_scripts, Regex(script_pattern()));
  } else if (type == "FixedLength") {
    const std::int64_t length = fields.integer("length").value_or(5);
    throw_if<FormatError>(length < 1 || length > 65535,
                          "{}: length must be from 1 to 65535, got {}", name, length);
    add_split(fmt::format(R"([\s\S]{{1,{}}})", length), SplitBehavior::kIsolated);
  } else if (type == "WhitespaceSplit") {
    add_split(R"(\s)", SplitBehavior::kRemoved);
  } else if (type == "Metaspace") {
    add_stage(read_metaspace(fields));
  } else {
    throw FormatError("{} is not supported", name);
  }
  check_num_stages(stages_.size(), where);
}

PreTokenizer::Scratch PreTokenizer::make_scratch() const {
  Scratch scratch(stages_.size());
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    if (stages_[i].regex) scratch[i].matcher.emplace(*stages_[i].regex);
  }
  return scratch;
}

void PreTokenizer::split(const TextPiece& piece, Scratch& scratch, WorkBudget& budget,
                         PieceConsumer& consumer) const {
  StageChain(stages_, scratch, budget, consumer).accept(piece);
}

}  // namespace lime
