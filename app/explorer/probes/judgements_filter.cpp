// SPDX-License-Identifier: Apache-2.0
#include "explorer/probes/judgements_filter.h"

#include "explorer/probes/judgements_model.h"

namespace lime::explorer {

JudgementsFilter::JudgementsFilter(QObject* parent) : QSortFilterProxyModel(parent) {
  setSortRole(JudgementsModel::kSort);
}

void JudgementsFilter::setMisclassifiedOnly(bool misclassified_only) {
  misclassified_only_ = misclassified_only;
  invalidateFilter();
}

void JudgementsFilter::setCell(std::optional<Cell> cell) {
  cell_ = cell;
  invalidateFilter();
}

void JudgementsFilter::setText(const QString& text) {
  text_ = text;
  invalidateFilter();
}

bool JudgementsFilter::filterAcceptsRow(int row, const QModelIndex&) const {
  const auto* const model = static_cast<const JudgementsModel*>(sourceModel());
  if (model == nullptr || model->detail() == nullptr) return false;
  const ProbeJudgement& one = model->at(row);
  if (cell_) {
    if (!one.isOfCell(model->detail()->question, cell_->first, cell_->second)) return false;
  } else if (misclassified_only_ && one.isRight()) {
    return false;
  }
  return text_.isEmpty() || model->text(row).contains(text_, Qt::CaseInsensitive);
}

}  // namespace lime::explorer
