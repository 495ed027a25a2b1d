// SPDX-License-Identifier: Apache-2.0
#include "explorer/interventions/edit_list.h"

#include <QAbstractItemModel>
#include <QHeaderView>
#include <QItemSelectionModel>
#include <QKeyEvent>
#include <QTableView>
#include <QVBoxLayout>

#include "explorer/models/text.h"
#include "explorer/widgets/controls.h"

namespace lime::explorer {
namespace {

constexpr int kListedEdits = 4;  // without scrolling

}  // namespace

EditList::EditList(QAbstractItemModel& edits, const QString& accessible_name)
    : table_(makeTable(edits, accessible_name)) {
  table_->setToolTip(u"Edits: Delete removes the selected ones, F2 changes a scale"_s);
  table_->setSelectionMode(QAbstractItemView::ExtendedSelection);
  QHeaderView* const header = table_->horizontalHeader();
  header->setStretchLastSection(false);
  header->setSectionResizeMode(QHeaderView::ResizeToContents);
  header->setResizeContentsPrecision(0);  // only visible rows: there may be many edits
  header->setSectionResizeMode(0, QHeaderView::Stretch);
  header->setHighlightSections(false);
  table_->setFixedHeight(header->sizeHint().height() +
                         kListedEdits * table_->verticalHeader()->defaultSectionSize());
  table_->installEventFilter(this);
  auto* const column = new QVBoxLayout(this);
  column->setContentsMargins(12, 0, 12, 0);
  column->addWidget(table_);
}

bool EditList::eventFilter(QObject* watched, QEvent* event) {
  if (watched == table_ && event->type() == QEvent::KeyPress) {
    const int key = static_cast<QKeyEvent*>(event)->key();
    if (key == Qt::Key_Delete || key == Qt::Key_Backspace) {
      std::vector<int> rows;
      for (const QModelIndex& index : table_->selectionModel()->selectedRows()) {
        rows.push_back(index.row());
      }
      Q_EMIT removalRequested(rows);
      return true;
    }
  }
  return QWidget::eventFilter(watched, event);
}

}  // namespace lime::explorer
