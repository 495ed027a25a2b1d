// SPDX-License-Identifier: Apache-2.0
#include "explorer/window/shortcut_dialog.h"

#include <QDialogButtonBox>
#include <QHeaderView>
#include <QKeySequence>
#include <QTreeWidget>
#include <QTreeWidgetItem>
#include <QVBoxLayout>
#include <QWidget>

namespace lime::explorer {
namespace {

/// Returns the keys and mouse gestures of every figure.
std::vector<Shortcut> figureShortcuts() {
  return {{u"Zoom at the pointer"_s, u"Wheel"_s},
          {u"Zoom along x, along y"_s, u"Ctrl+Wheel, Shift+Wheel"_s},
          {u"Move a figure"_s, u"Drag, Ctrl+Arrows"_s},
          {u"Show the whole figure"_s, u"Double click"_s},
          {u"Next control"_s, u"Tab"_s}};
}

void addShortcuts(QTreeWidget& tree, const std::vector<Shortcut>& shortcuts) {
  for (const Shortcut& shortcut : shortcuts)
    new QTreeWidgetItem(&tree, {shortcut.what, shortcut.keys});
}

}  // namespace

ShortcutDialog::ShortcutDialog(const QList<QAction*>& actions,
                               const std::vector<Shortcut>& shortcuts, QWidget* parent)
    : QDialog(parent) {
  setWindowTitle(u"Shortcuts"_s);
  auto* const tree = new QTreeWidget;
  tree->setColumnCount(2);
  tree->setHeaderLabels({u"Action"_s, u"Keys"_s});
  tree->setRootIsDecorated(false);
  tree->setAlternatingRowColors(true);
  tree->setAccessibleName(u"shortcuts"_s);
  for (const QAction* const action : actions) {
    if (action->shortcut().isEmpty()) continue;
    QStringList keys;
    for (const QKeySequence& sequence : action->shortcuts()) {
      keys << sequence.toString(QKeySequence::NativeText);
    }
    QString text = action->text();
    text.remove(u'&');
    auto* const item = new QTreeWidgetItem(tree, {text, keys.join(u", "_s)});
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
