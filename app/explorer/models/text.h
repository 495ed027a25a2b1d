// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
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

/// `word` as a POSIX shell takes it for one word.
QString quotedForShell(const QString& word);

/// Orders text by letters, and numbers within it by their size: "step-2" before "step-10".
bool naturallyLess(const QString& a, const QString& b);

}  // namespace lime::explorer
