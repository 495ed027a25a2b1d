// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace lime {

/// Returns the number of single-character insertions, deletions, substitutions and swaps of
/// neighbours that turn one word into the other (optimal string alignment distance).
std::size_t edit_distance(std::string_view a, std::string_view b);

/// Returns the candidate closest to `word`, at most one edit per three letters; else an empty
/// string.
std::string closest_word(std::string_view word, std::span<const std::string> candidates);

/// Returns "a, b, c", or "none" for an empty list.
std::string join_words(std::span<const std::string> words);

}  // namespace lime
