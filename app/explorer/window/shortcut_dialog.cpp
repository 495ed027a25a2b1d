// SPDX-License-Identifier: Apache-2.0
#include "explorer/window/shortcut_dialog.h"

#include <QDialogButtonBox>
#include <QHeaderView>
#include <QTreeWidget>
#include <QVBoxLayout>

namespace lime::explorer {
namespace {

/// Returns the keys and mouse gestures of every figure.
std::vector<Shortcut> figureShortcuts() {
  return {{QStringLiteral("Zoom at the pointer"), QStringLiteral("Wheel")},
          {QStringLiteral("Zoom along x, along y"), QStringLiteral("Ctrl+Wheel, Shift+Wheel")},
          {QStringLiteral("Move a figure"), QStringLiteral("Drag, Ctrl+Arrows")},
          {QStringLiteral("Show the whole figure"), QStringLiteral("Double click")},
          {QStringLiteral("Next control"), QStringLiteral("Tab")}};
}

void addShortcuts(QTreeWidget& tree, const std::vector<Shortcut>& shortcuts) {
  for (const Shortcut& shortcut : shortcuts)
    new QTreeWidgetItem(&tree, {shortcut.what, shortcut.keys});
}

}  // namespace

ShortcutDialog::ShortcutDialog(const QList<QAction*>& actions,
                               const std::vector<Shortcut>& shortcuts, QWidget* parent)
    : QDialog(parent) {
  setWindowTitle(QStringLiteral("Shortcuts"));
  auto* const tree = new QTreeWidget;
  tree->setColumnCount(2);
  tree->setHeaderLabels({QStringLiteral("Action"), QStringLiteral("Keys")});
  tree->setRootIsDecorated(false);
  tree->setAlternatingRowColors(true);
  tree->setAccessibleName(QStringLiteral("shortcuts"));
  for (const QAction* const action : actions) {
    if (action->shortcut().isEmpty()) continue;
    QStringList keys;
    for (const QKeySequence& sequence : action->shortcuts()) {
      keys << sequence.toString(QKeySequence::NativeText);
    }
    QString text = action->text();
    text.remove(QLatin1Char('&'));
    auto* const item = new QTreeWidgetItem(tree, {text, keys.join(QStringLiteral(", "))});
    item->setToolTip(0, action->statusTip());
  }
  addShortcuts(*tree, shortcuts);
  addShortcuts(*tree, figureShortcuts());
  tree->header()->setSectionResizeMode(0, QHeaderView::ResizeToContents);
  auto* const buttons = new QDialogButtonBox(QDialogButtonBox::Close);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  auto* const column = new QVBoxLayout(this);
  column->addWidget(tree);
  column->addWidget(buttons);
  resize(520, 560);
}

}  // namespace lime::explorer
