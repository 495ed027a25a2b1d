// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace lime {

/// Limits the work that the stages of a tokenizer.json may spend on one text. Stages may write
/// 256 bytes for each byte of the text and 1 MiB more; patterns may take 10,000 steps for each byte
/// and 10^8 more. Ordinary tokenizers need far less; a malicious file can neither run for hours nor
/// exhaust the memory. For one thread.
class WorkBudget {
 public:
  explicit WorkBudget(std::size_t text_bytes);

 private:
  friend class StageWork;
  std::size_t text_bytes_;
  std::uint64_t bytes_left_;
  std::uint64_t steps_left_;
};

/// Work of one stage on a text. Keeps references to both arguments.
class StageWork {
 public:
  /// @param stage  the place in the file, for errors.
  StageWork(WorkBudget& budget, std::string_view stage) : budget_(budget), stage_(stage) {}

  std::string_view stage() const { return stage_; }
  /// Call before the bytes are written. @throws InvalidArgument  that names the stage.
  void take_bytes(std::uint64_t count) const;
  /// Counts steps of a pattern. @throws InvalidArgument  that names the stage.
  void take_steps(std::uint64_t count) const;

 private:
  WorkBudget& budget_;
  std::string_view stage_;
};

/// Replaces each `from`, which must not be empty, by `to` in `text`.
std::string replace_all(std::string_view text, std::string_view from, std::string_view to,
                        const StageWork& work);

/// @throws FormatError  if a part of a tokenizer has more than 100 stages.
void check_num_stages(std::size_t count, std::string_view where);

/// A regular expression of tokenizer.json over UTF-8 text with Unicode's classes, compiled to
/// machine code by PCRE2. Immutable and thread-safe; matching goes through a RegexMatcher.
class Regex {
 public:
  /// @throws FormatError  if the pattern is broken or pcre2_from_oniguruma() does not support it.
  explicit Regex(std::string_view pattern);

 private:
  friend class RegexMatcher;
  struct Code;
  std::shared_ptr<const Code> code_;
};

/// Scratch memory for matching one Regex, which must outlive it. One per thread.
class RegexMatcher {
 public:
  explicit RegexMatcher(const Regex& regex);
  ~RegexMatcher();
  RegexMatcher(RegexMatcher&&) noexcept;
  RegexMatcher& operator=(RegexMatcher&&) noexcept;

  struct Match {
    std::size_t begin = 0;
    std::size_t end = 0;
    int group = 0;  ///< the last one that took part; 0: none
  };

  /// Returns the first match at or after byte `offset`; look-behind sees the text before it.
  /// @param text  valid UTF-8; not checked again. `offset` is at the start of a character.
  /// @throws InvalidArgument  if the pattern needs too many steps (`work`) or too much memory.
  std::optional<Match> find(std::string_view text, std::size_t offset, const StageWork& work);

 private:
  struct Scratch;
  /// @param ends_early  `text` continues; a match that depends on the rest is PCRE2_ERROR_PARTIAL.
  int run(std::string_view text, std::size_t offset, bool ends_early);

  std::unique_ptr<Scratch> scratch_;
};

/// Rewrites a pattern of tokenizer.json from Oniguruma (Ruby syntax) to an equal one of PCRE2.
///
/// The two differ in the meaning of shorthands: `\s` is White_Space (PCRE2 adds U+180E), `\w`
/// includes marks and all connectors, `\h` is a hexadecimal digit, `\v` a vertical tab, `\b` is
/// where `\w` begins or ends, and a script name such as `\p{Han}` does not mean its extensions.
///
/// @throws FormatError  for class intersections, nested classes, `{n,m}+`, back-references, `(?m)`.
/// Source: Oniguruma 6.9, doc/RE; checked on every code point against `tokenizers` 0.23.
std::string pcre2_from_oniguruma(std::string_view pattern);

/// Returns a pattern that matches `text` literally.
std::string quote_pattern(std::string_view text);

}  // namespace lime
