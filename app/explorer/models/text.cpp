// SPDX-License-Identifier: Apache-2.0
#include "explorer/models/text.h"

#include "core/program/terminal.h"
#include "core/utf8.h"

namespace lime::explorer {
namespace {

/// Limit of a name in a list or outline.
constexpr std::size_t kMostShownBytes = 200;

}  // namespace

QString toQString(const std::exception& error) { return toQString(message_line(error.what())); }

QString shownText(std::string_view text) { return toQString(printable(text, kMostShownBytes)); }

bool contains(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

QString quotedForShell(const QString& word) { return toQString(shell_word(word.toStdString())); }

QString shellLine(const QStringList& words) {
  QStringList quoted;
  for (const QString& word : words) quoted << quotedForShell(word);
  return quoted.join(u' ');
}

bool naturallyLess(const QString& a, const QString& b) {
  qsizetype i = 0;
  qsizetype k = 0;
  const auto numberAt = [](const QString& text, qsizetype& at) {
    const qsizetype first = at;
    while (at < text.size() && text[at].isDigit()) ++at;
    return text.mid(first, at - first).toDouble();  // as many digits as one likes
  };
  while (i < a.size() && k < b.size()) {
    if (a[i].isDigit() && b[k].isDigit()) {
      const double x = numberAt(a, i);
      const double y = numberAt(b, k);
      if (x != y) return x < y;
      continue;
    }
    if (a[i] != b[k]) return a[i] < b[k];
    ++i;
    ++k;
  }
  return a.size() - i < b.size() - k;
}

}  // namespace lime::explorer
