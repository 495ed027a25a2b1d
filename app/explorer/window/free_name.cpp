// SPDX-License-Identifier: Apache-2.0
#include "explorer/window/free_name.h"

#include <QDir>
#include <QFileInfo>

#include "explorer/models/text.h"
#include "explorer/window/session.h"

namespace lime::explorer {

QString freeName(const QString& name, const QString& extension) {
  const QDir folder(QFileInfo(lastFolder()).isWritable() ? lastFolder() : QDir::homePath());
  QString free = name;
  // With several checkpoints, each has its own file with its label in the name.
  for (int number = 2; !folder.entryList({free + u".*"_s, free + u"-*.*"_s}).isEmpty(); ++number) {
    free = u"%1-%2"_s.arg(name).arg(number);
  }
  return folder.filePath(free + extension);
}

}  // namespace lime::explorer
