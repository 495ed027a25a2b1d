// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QStringList>
#include <algorithm>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/errors.h"
#include "core/program/terminal.h"
#include "core/utf8.h"

namespace lime::explorer {

using namespace Qt::StringLiterals;  // u"text"_s, "text"_L1

inline QString toQString(const std::string& text) { return QString::fromStdString(text); }

inline QString toQString(std::string_view text) {
  return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

inline QString toQString(const std::filesystem::path& path) {
  return QString::fromStdString(path.string());
}

inline std::filesystem::path toPath(const QString& text) {
  return std::filesystem::path(text.toStdString());
}

/// Returns the label of an option, which forms and messages show: "batch size".
inline QString wordsOf(std::string name) {
  std::ranges::replace(name, '_', ' ');
  return toQString(name);
}

/// Returns the message of an error as the programs print it: one line, without control characters
/// that change how text is shown. An option has the name that forms show.
inline QString toQString(const std::exception& error) {
  const auto* const known = dynamic_cast<const Error*>(&error);
  if (known == nullptr) return toQString(message_line(error.what()));
  const auto spelling = [](const std::string& name) { return wordsOf(name).toStdString(); };
  return toQString(message_line(known->spelled(spelling)));
}

/// Returns a text of a file as one line for display, escaped likewise; not usable as a key.
inline QString shownText(std::string_view text) { return toQString(printable(text, 200)); }

/// Returns whether `words` has `word`.
inline bool contains(const std::vector<std::string>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}
/// Returns `word` quoted as one word of a POSIX shell.
inline QString quotedForShell(const QString& word) {
  return toQString(shell_word(word.toStdString()));
}
/// Returns `words` as one line for a POSIX shell, each of them quoted if necessary.
inline QString shellLine(QStringList words) {
  std::ranges::transform(words, words.begin(), quotedForShell);
  return words.join(u' ');
}

}  // namespace lime::explorer
