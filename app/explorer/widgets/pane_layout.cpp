// SPDX-License-Identifier: Apache-2.0
#include "explorer/widgets/pane_layout.h"

#include <QHeaderView>
#include <QLabel>
#include <QSignalBlocker>
#include <QSplitter>
#include <QTableView>
#include <QVBoxLayout>

namespace lime::explorer {

QVBoxLayout* fillWithColumn(QWidget& page) {
  auto* const column = new QVBoxLayout(&page);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  return column;
}

QHBoxLayout* makeBar(QWidget& bar) {
  auto* const row = new QHBoxLayout(&bar);
  row->setContentsMargins(12, 8, 12, 8);
  row->setSpacing(8);
  return row;
}

QLabel* makeCaption(const QString& text) {
  auto* const label = new QLabel(text);
  label->setContentsMargins(12, 4, 12, 4);
  label->setMinimumWidth(40);
  return label;
}

void setNote(QLabel& note, const QStringList& lines) {
  note.setText(lines.join(QLatin1Char('\n')));
  note.setVisible(!lines.isEmpty());
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

QTableView* makeTable(QAbstractItemModel& model, const QString& accessible_name) {
  constexpr int kRowMargins = 6;
  auto* const table = new QTableView;
  table->setModel(&model);
  table->setAccessibleName(accessible_name);
  table->setSelectionBehavior(QAbstractItemView::SelectRows);
  table->setSelectionMode(QAbstractItemView::SingleSelection);
  table->setFrameShape(QFrame::NoFrame);
  table->setShowGrid(false);
  table->setWordWrap(false);
  table->setTabKeyNavigation(false);
  table->horizontalHeader()->setStretchLastSection(true);
  table->verticalHeader()->hide();
  table->verticalHeader()->setDefaultSectionSize(table->fontMetrics().height() + kRowMargins);
  return table;
}

void setCurrentQuietly(QTableView& table, const QModelIndex& index) {
  const QSignalBlocker quiet(table.selectionModel());
  table.setCurrentIndex(index);
  table.viewport()->update();
}

}  // namespace lime::explorer
