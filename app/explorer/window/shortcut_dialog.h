// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAction>
#include <QDialog>
#include <QList>
#include <vector>

#include "explorer/widgets/view.h"

class QWidget;

namespace lime::explorer {

/// Lists all shortcuts: those of the menus and of the current view.
class ShortcutDialog : public QDialog {
  Q_OBJECT

 public:
  ShortcutDialog(const QList<QAction*>& actions, const std::vector<Shortcut>& shortcuts,
                 QWidget* parent = nullptr);
};

}  // namespace lime::explorer
