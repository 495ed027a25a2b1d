// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace lime {

/// Base of every exception that the toolkit throws on purpose.
///
/// The text reads `where: what must hold, got value; remedy`, in lower case and without a full
/// stop, and is shown to the user as it is. NUL is escaped, as it would end what().
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& text) : std::runtime_error(visible(text)) {}
  explicit Error(const char* text) : std::runtime_error(text) {}

  template <typename First, typename... Rest>
  Error(fmt::format_string<First, Rest...> text, First&& first, Rest&&... rest)
      : Error(fmt::format(text, std::forward<First>(first), std::forward<Rest>(rest)...)) {}

 private:
  static std::string visible(std::string text) {
    for (std::size_t at = 0; (at = text.find('\0', at)) != std::string::npos;) {
      text.replace(at, 1, "\\x00");
    }
    return text;
  }
};

/// An argument or option is outside what its documentation allows.
class InvalidArgument : public Error {
 public:
  using Error::Error;
};

/// A file was read, but its contents do not match its format.
class FormatError : public Error {
 public:
  using Error::Error;
};

/// The operating system refused: missing file, permission, space.
class IoError : public Error {
 public:
  using Error::Error;
};

/// A result is not finite, or a calculation did not converge.
class NumericalError : public Error {
 public:
  using Error::Error;
};

/// The user requested a stop; finished work is kept. The programs exit with status 130.
class Interrupted : public Error {
 public:
  using Error::Error;
};

/// Throws an exception with the formatted text if `fails`. The arguments are evaluated in any case:
/// an expensive one, or one that exists only after the failure, belongs in an `if`.
template <typename Exception = InvalidArgument, typename... Args>
void throw_if(bool fails, fmt::format_string<Args...> text, Args&&... args) {
  if (fails) throw Exception(text, std::forward<Args>(args)...);
}

template <typename Exception = InvalidArgument> void throw_if(bool fails, const char* text) {
  if (fails) throw Exception(text);
}

}  // namespace lime
