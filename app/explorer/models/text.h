// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QStringList>
#include <algorithm>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>

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

/// Returns the message of an error as the programs print it: one line, without control characters
/// that change how text is shown.
QString toQString(const std::exception& error);

/// Returns a text of a file as one line for display, escaped likewise; not usable as a key.
QString shownText(std::string_view text);

/// Returns whether `words` has `word`.
inline bool contains(const std::vector<std::string>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}
/// Returns `words` as one line for a POSIX shell, each of them quoted if necessary.
QString shellLine(const QStringList& words);
/// Returns `word` quoted as one word of a POSIX shell.
QString quotedForShell(const QString& word);

/// Orders text by letters, and numbers within it by their size: "step-2" before "step-10".
bool naturallyLess(const QString& a, const QString& b);

}  // namespace lime::explorer
