// SPDX-License-Identifier: Apache-2.0
#include "explorer/views/pane_layout.h"

#include <QLabel>
#include <QSplitter>
#include <QVBoxLayout>

namespace lime::explorer {

QVBoxLayout* fillWithColumn(QWidget& page) {
  auto* const column = new QVBoxLayout(&page);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  return column;
}

QLabel* makeNote(const QString& name) {
  auto* const label = new QLabel;
  label->setWordWrap(true);
  label->setContentsMargins(12, 0, 12, 6);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  label->setAccessibleName(name);
  label->hide();
  return label;
}

QSplitter* makeSplitter(Qt::Orientation orientation, const QList<QWidget*>& panes,
                        const QList<int>& sizes) {
  auto* const splitter = new QSplitter(orientation);
  splitter->setChildrenCollapsible(false);
  splitter->setHandleWidth(1);
  for (QWidget* const pane : panes) splitter->addWidget(pane);
  splitter->setSizes(sizes);
  return splitter;
}

}  // namespace lime::explorer
