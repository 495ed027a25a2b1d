// SPDX-License-Identifier: Apache-2.0
#include "explorer/text/sequence_list.h"

#include <QLineEdit>
#include <QTableView>
#include <QVBoxLayout>
#include <vector>

#include "explorer/models/text.h"
#include "explorer/widgets/controls.h"
#include "store/capture_reader.h"

namespace lime::explorer {

SequenceList::SequenceList(JobRunner& jobs)
    : jobs_(jobs),
      search_(makeSearch(u"find a sequence"_s, u"List only sequences that contain this text"_s)) {
  filter_.setSourceModel(&model_);
  filter_.setFilterKeyColumn(SentencesModel::kText);
  filter_.setFilterRole(Qt::UserRole);
  filter_.setFilterCaseSensitivity(Qt::CaseInsensitive);
  filter_.setSortRole(Qt::UserRole);
  table_ = makeTable(filter_, u"sequences"_s);
  table_->setSortingEnabled(true);
  table_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);  // texts are elided
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

void SequenceList::setCapture(const std::shared_ptr<const CaptureReader>& capture) {
  if (capture == model_.capture()) return;
  is_filtering_ = true;
  model_.setCapture(capture);
  is_filtering_ = false;
  if (capture == nullptr) return;
  // Reading waits for other readers of HDF5: not on the GUI thread.
  jobs_.start<const std::vector<Sequence>*>(
      this, {.title = u"Reading the sequences"_s, .key = u"text/sequences"_s, .is_shown = false},
      [capture](const JobContext&) { return &capture->sequences(); },
      [this, capture](const std::vector<Sequence>* sequences) {
        if (capture != model_.capture()) return;
        is_filtering_ = true;
        model_.showTexts(*sequences);
        is_filtering_ = false;
        setCurrent(current_);
      });
}

void SequenceList::setCurrent(int sequence) {
  current_ = sequence;
  const QModelIndex row = filter_.mapFromSource(model_.index(sequence, 0));
  if (row.isValid() && table_->currentIndex().row() != row.row()) setCurrentQuietly(*table_, row);
}

void SequenceList::focusSearch() { search_->setFocus(Qt::ShortcutFocusReason); }

}  // namespace lime::explorer
