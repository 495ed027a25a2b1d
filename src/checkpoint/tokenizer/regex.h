// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "checkpoint/tokenizer/work_budget.h"

namespace lime {

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

}  // namespace lime
