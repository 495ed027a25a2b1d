// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>

namespace lime::explorer {

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

/// What an error says, as the programs print it: one line, with nothing in it that controls how
/// text is shown.
QString toQString(const std::exception& error);

/// A text of a file on one line for people to read, likewise; not to be looked up again.
QString shownText(std::string_view text);

/// `word` as a POSIX shell takes it for one word.
QString quotedForShell(const QString& word);

/// Orders text by letters, and numbers within it by their size: "step-2" before "step-10".
bool naturallyLess(const QString& a, const QString& b);

}  // namespace lime::explorer
