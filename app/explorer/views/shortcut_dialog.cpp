// SPDX-License-Identifier: Apache-2.0
#include "explorer/views/shortcut_dialog.h"

#include <QDialogButtonBox>
#include <QHeaderView>
#include <QTreeWidget>
#include <QVBoxLayout>

namespace lime::explorer {
namespace {

/// Keys and mouse of every figure, which no menu has.
std::vector<Habit> habitsOfFigures() {
  return {{QStringLiteral("Zoom about the pointer"), QStringLiteral("Wheel")},
          {QStringLiteral("Zoom across only, up only"), QStringLiteral("Ctrl+Wheel, Shift+Wheel")},
          {QStringLiteral("Move a figure"), QStringLiteral("Drag, Ctrl+Arrows")},
          {QStringLiteral("Show all of a figure again"), QStringLiteral("Double click")},
          {QStringLiteral("Next part of the window"), QStringLiteral("Tab")}};
}

void addHabits(QTreeWidget& tree, const std::vector<Habit>& habits) {
  for (const Habit& habit : habits) new QTreeWidgetItem(&tree, {habit.what, habit.keys});
}

}  // namespace

ShortcutDialog::ShortcutDialog(const QList<QAction*>& actions, const std::vector<Habit>& habits,
                               QWidget* parent)
    : QDialog(parent) {
  setWindowTitle(QStringLiteral("Shortcuts"));
  auto* const tree = new QTreeWidget;
  tree->setColumnCount(2);
  tree->setHeaderLabels({QStringLiteral("What"), QStringLiteral("Keys")});
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
  addHabits(*tree, habits);
  addHabits(*tree, habitsOfFigures());
  tree->header()->setSectionResizeMode(0, QHeaderView::ResizeToContents);
  auto* const buttons = new QDialogButtonBox(QDialogButtonBox::Close);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  auto* const column = new QVBoxLayout(this);
  column->addWidget(tree);
  column->addWidget(buttons);
  resize(520, 560);
}

}  // namespace lime::explorer
