// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace lime {

// Texts of files may contain escape sequences, which a terminal would execute, and line breaks,
// which would split a line. All output to the user goes through one of these functions; printable()
// (core/utf8.h) documents what is escaped.

/// Returns all of `text` on one line.
std::string escaped(std::string_view text);

/// Returns `text` line by line; line breaks and tabs are kept.
std::string escaped_lines(std::string_view text);

/// Returns `text` as one line of a message. Words of more than 240 bytes and texts of more than
/// 1000 are shortened in the middle: location and remedy stay readable.
std::string message_line(std::string_view text);

/// Returns escaped_lines(text) if standard output is a terminal, else `text` unchanged.
std::string for_standard_output(std::string text);

/// Prints `text` on standard error. If that fails, as for `2>&1 | head`, nothing can report it.
void print_error(std::string_view text);

/// Prints message_line() of the formatted text and a line break.
template <typename... Arguments>
void print_line(std::FILE* file, fmt::format_string<Arguments...> format,
                Arguments&&... arguments) {
  const std::string line = message_line(fmt::format(format, std::forward<Arguments>(arguments)...));
  if (file == stderr) return print_error(line + "\n");
  fmt::print(file, "{}\n", line);
}

}  // namespace lime
