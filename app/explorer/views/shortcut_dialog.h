// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAction>
#include <QDialog>
#include <QList>
#include <vector>

#include "explorer/views/view.h"

namespace lime::explorer {

/// One overview of all keys: those of the menus, and of the view that is shown.
class ShortcutDialog : public QDialog {
  Q_OBJECT

 public:
  ShortcutDialog(const QList<QAction*>& actions, const std::vector<Habit>& habits,
                 QWidget* parent = nullptr);
};

}  // namespace lime::explorer
