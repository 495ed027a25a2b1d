// SPDX-License-Identifier: Apache-2.0
#include "explorer/views/shortcut_dialog.h"

#include <QDialogButtonBox>
#include <QHeaderView>
#include <QTreeWidget>
#include <QVBoxLayout>

namespace lime::explorer {
namespace {

/// Keys and mouse of every figure, which no menu has.
struct Habit {
  const char* what;
  const char* keys;
};
constexpr Habit kHabits[] = {
    {"Zoom about the pointer", "Wheel"}, {"Zoom across only, up only", "Ctrl+Wheel, Shift+Wheel"},
    {"Move a figure", "Drag"},           {"Show all of a figure again", "Double click"},
    {"Next part of the window", "Tab"},
};

}  // namespace

ShortcutDialog::ShortcutDialog(const QList<QAction*>& actions, QWidget* parent) : QDialog(parent) {
  setWindowTitle(QStringLiteral("Shortcuts"));
  auto* const tree = new QTreeWidget;
  tree->setColumnCount(2);
  tree->setHeaderLabels({QStringLiteral("What"), QStringLiteral("Keys")});
  tree->setRootIsDecorated(false);
  tree->setAlternatingRowColors(true);
  tree->setAccessibleName(QStringLiteral("shortcuts"));
  for (const QAction* const action : actions) {
    if (action->shortcuts().isEmpty()) continue;
    QStringList keys;
    for (const QKeySequence& sequence : action->shortcuts()) {
      keys << sequence.toString(QKeySequence::NativeText);
    }
    QString text = action->text();
    text.remove(QLatin1Char('&'));
    auto* const item = new QTreeWidgetItem(tree, {text, keys.join(QStringLiteral(", "))});
    item->setToolTip(0, action->statusTip());
  }
  for (const Habit& habit : kHabits) {
    new QTreeWidgetItem(tree, {QString::fromLatin1(habit.what), QString::fromLatin1(habit.keys)});
  }
  tree->header()->setSectionResizeMode(0, QHeaderView::ResizeToContents);
  auto* const buttons = new QDialogButtonBox(QDialogButtonBox::Close);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  auto* const column = new QVBoxLayout(this);
  column->addWidget(tree);
  column->addWidget(buttons);
  resize(520, 560);
}

}  // namespace lime::explorer
