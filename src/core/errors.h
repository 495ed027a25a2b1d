// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace lime {

/// Names an option in an error about its value, as its options struct spells it: `batch_size`.
struct OptionName {
  explicit OptionName(std::string_view name) : text(name) {}

  std::string_view text;
};

/// Base of every exception that the toolkit throws on purpose.
///
/// The text reads `where: what must hold, got value; remedy`, in lower case and without a full
/// stop, and is shown to the user as it is. NUL is escaped, as it would end what().
///
/// An error about an option, thrown as `InvalidArgument(OptionName("folds"), "must be >= 2, got
/// {}", folds)`, reads `folds: must be >= 2, got 1`. That is the name in Python; a program spells
/// it as its user does: `--folds: must be >= 2, got 1`.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& text) : std::runtime_error(visible(text)) {}
  explicit Error(const char* text) : std::runtime_error(text) {}

  template <typename First, typename... Rest>
  Error(fmt::format_string<First, Rest...> text, First&& first, Rest&&... rest)
      : Error(fmt::format(text, std::forward<First>(first), std::forward<Rest>(rest)...)) {}

  template <typename... Args>
  Error(OptionName option, fmt::format_string<Args...> problem, Args&&... args)
      : Error(
            fmt::format("{}: {}", option.text, fmt::format(problem, std::forward<Args>(args)...))) {
    option_ = option.text;
  }

  /// Returns the name of the option at fault; empty if the error is about something else, or after
  /// spell().
  const std::string& option() const { return option_; }

  /// Returns the text after the name of the option; all of it if there is none.
  std::string_view problem() const {
    const std::string_view text = what();
    return option_.empty() ? text : text.substr(option_at_ + option_.size() + 2);
  }

  /// Returns the text with `spelling(name)` in place of the name of the option, if there is one.
  template <typename Spelling> std::string spelled(const Spelling& spelling) const {
    std::string text = what();
    if (!option_.empty()) text.replace(option_at_, option_.size(), spelling(option_));
    return text;
  }

  /// Changes what() to spelled(spelling).
  template <typename Spelling> void spell(const Spelling& spelling) {
    set_text(spelled(spelling));
    option_.clear();
  }

  /// Puts `where: ` before the text.
  void prepend(std::string_view where) {
    const std::size_t before = std::strlen(what());
    set_text(visible(fmt::format("{}: {}", where, what())));
    option_at_ += std::strlen(what()) - before;
  }

 private:
  static std::string visible(std::string text) {
    for (std::size_t at = 0; (at = text.find('\0', at)) != std::string::npos;) {
      text.replace(at, 1, "\\x00");
    }
    return text;
  }

  void set_text(const std::string& text) {
    static_cast<std::runtime_error&>(*this) = std::runtime_error(text);
  }

  std::string option_;
  std::size_t option_at_ = 0;  ///< offset of option_ in the text
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

/// Likewise about an option: `option: problem`.
template <typename Exception = InvalidArgument, typename... Args>
void throw_if(bool fails, OptionName option, fmt::format_string<Args...> problem, Args&&... args) {
  if (fails) throw Exception(option, problem, std::forward<Args>(args)...);
}

/// Returns `error` with `where: ` before its text, for throwing it again.
template <typename Exception> Exception prefixed(std::string_view where, Exception error) {
  error.prepend(where);
  return error;
}

}  // namespace lime
