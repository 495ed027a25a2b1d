// SPDX-License-Identifier: Apache-2.0
#include "explorer/window/menu_action.h"

#include <QAction>

namespace lime::explorer {

QAction* addMenuAction(QMenu& menu, const QString& text, const QKeySequence& shortcut,
                       const QString& statusTip, const std::function<void()>& run) {
  QAction* const added = menu.addAction(text);
  added->setShortcut(shortcut);
  added->setStatusTip(statusTip);
  if (run) QObject::connect(added, &QAction::triggered, &menu, run);
  return added;
}

}  // namespace lime::explorer
