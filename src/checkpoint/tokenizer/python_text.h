// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lime {

/// These functions equal the methods of Python's `str` that prompts of lm-evaluation-harness and
/// chat templates depend on. Texts are valid UTF-8.

/// Returns the byte offset of each code point, and the size of the text last.
std::vector<std::size_t> code_point_starts(std::string_view text);
/// Returns `len(text)`.
std::size_t code_points_in(std::string_view text);

enum class StripSides { kBoth, kLeft, kRight };

/// Returns `text.strip(characters)`, `text.lstrip(characters)` or `text.rstrip(characters)`.
/// @param characters  those that are removed; nothing: white space
std::string_view stripped(std::string_view text, StripSides sides,
                          std::optional<std::string_view> characters = std::nullopt);

/// Returns `text.strip()`.
std::string python_strip(std::string_view text);
/// Returns the number of bytes of `text.rstrip()`.
std::size_t python_rstrip_size(std::string_view text);

/// Returns `text.capitalize()`. A first letter outside ASCII keeps its case.
std::string python_capitalize(std::string_view text);

/// Returns `text.replace(from, to)`; `from` must not be empty.
std::string replaced(std::string text, std::string_view from, std::string_view to);

}  // namespace lime
