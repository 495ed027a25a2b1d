// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QKeySequence>
#include <QMenu>
#include <QString>
#include <functional>

class QAction;

namespace lime::explorer {

/// Adds an action with a shortcut and a status tip to a menu.
QAction* addMenuAction(QMenu& menu, const QString& text, const QKeySequence& shortcut,
                       const QString& statusTip, const std::function<void()>& run);

}  // namespace lime::explorer
