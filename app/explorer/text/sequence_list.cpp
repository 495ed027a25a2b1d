// SPDX-License-Identifier: Apache-2.0
#include "explorer/text/sequence_list.h"

#include <QLineEdit>
#include <QTableView>
#include <QVBoxLayout>

#include "explorer/widgets/pane_layout.h"

namespace lime::explorer {

SequenceList::SequenceList(QWidget* parent) : QWidget(parent), search_(new QLineEdit) {
  search_->setPlaceholderText(QStringLiteral("find a sequence"));
  search_->setAccessibleName(QStringLiteral("find a sequence"));
  search_->setToolTip(QStringLiteral("List only sequences that contain this text"));
  search_->setClearButtonEnabled(true);
  filter_.setSourceModel(&model_);
  filter_.setFilterKeyColumn(SentencesModel::kText);
  filter_.setFilterRole(Qt::UserRole);
  filter_.setFilterCaseSensitivity(Qt::CaseInsensitive);
  filter_.setSortRole(Qt::UserRole);
  table_ = makeTable(filter_, QStringLiteral("sequences"));
  table_->setSortingEnabled(true);
  table_->sortByColumn(SentencesModel::kNumber, Qt::AscendingOrder);
  const int digit = table_->fontMetrics().averageCharWidth();
  table_->setColumnWidth(SentencesModel::kNumber, 7 * digit);
  table_->setColumnWidth(SentencesModel::kTokens, 9 * digit);
  auto* const column = new QVBoxLayout(this);
  column->setContentsMargins(8, 4, 0, 0);
  column->addWidget(search_);
  column->addWidget(table_, 1);
  connect(search_, &QLineEdit::textChanged, this, [this](const QString& text) {
    // The table would move to a neighbour where the current sequence leaves it.
    is_filtering_ = true;
    filter_.setFilterFixedString(text);
    is_filtering_ = false;
    setCurrent(current_);
  });
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& index) {
            if (!index.isValid() || is_filtering_) return;
            Q_EMIT sequenceSelected(filter_.mapToSource(index).row());
          });
}

void SequenceList::setCapture(std::shared_ptr<const CaptureReader> capture) {
  is_filtering_ = true;
  model_.setCapture(std::move(capture));
  is_filtering_ = false;
}

void SequenceList::setCurrent(int sequence) {
  current_ = sequence;
  const QModelIndex row = filter_.mapFromSource(model_.index(sequence, 0));
  if (row.isValid() && table_->currentIndex().row() != row.row()) setCurrentQuietly(*table_, row);
}

void SequenceList::focusSearch() { search_->setFocus(Qt::ShortcutFocusReason); }

}  // namespace lime::explorer
