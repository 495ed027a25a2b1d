// SPDX-License-Identifier: Apache-2.0
#include "explorer/models/text.h"

#include <QRegularExpression>

namespace lime::explorer {

QString quotedForShell(const QString& word) {
  static const QRegularExpression plain(QStringLiteral("^[A-Za-z0-9_./:=,+@%-]+$"));
  if (plain.match(word).hasMatch()) return word;
  QString inner = word;
  inner.replace(QLatin1String("'"), QLatin1String("'\\''"));
  return QLatin1Char('\'') + inner + QLatin1Char('\'');
}

}  // namespace lime::explorer
