// SPDX-License-Identifier: Apache-2.0
#include "explorer/models/judgements_filter.h"

#include "explorer/models/judgements_model.h"

namespace lime::explorer {

JudgementsFilter::JudgementsFilter(QObject* parent) : QSortFilterProxyModel(parent) {
  setSortRole(JudgementsModel::kSort);
}

void JudgementsFilter::setWrongOnly(bool wrong_only) {
  wrong_only_ = wrong_only;
  invalidateFilter();
}

void JudgementsFilter::setCell(std::optional<std::pair<int, int>> cell) {
  cell_ = cell;
  invalidateFilter();
}

void JudgementsFilter::setText(const QString& text) {
  text_ = text;
  invalidateFilter();
}

bool JudgementsFilter::filterAcceptsRow(int row, const QModelIndex&) const {
  const auto* const model = qobject_cast<const JudgementsModel*>(sourceModel());
  if (model == nullptr || model->detail() == nullptr) return false;
  const ProbeJudgement& one = model->at(row);
  if (cell_) {
    if (!one.isOfCell(model->detail()->question, cell_->first, cell_->second)) return false;
  } else if (wrong_only_ && one.isRight()) {
    return false;
  }
  return text_.isEmpty() || model->text(row).contains(text_, Qt::CaseInsensitive);
}

}  // namespace lime::explorer
