// SPDX-License-Identifier: Apache-2.0
#include "explorer/probes/predictions_filter.h"

#include "explorer/probes/predictions_model.h"

namespace lime::explorer {

PredictionsFilter::PredictionsFilter(QObject* parent) : QSortFilterProxyModel(parent) {
  setSortRole(PredictionsModel::kSort);
}

void PredictionsFilter::setMisclassifiedOnly(bool misclassified_only) {
  misclassified_only_ = misclassified_only;
  invalidateFilter();
}

void PredictionsFilter::setCell(std::optional<Cell> cell) {
  cell_ = cell;
  invalidateFilter();
}

void PredictionsFilter::setText(const QString& text) {
  text_ = text;
  invalidateFilter();
}

bool PredictionsFilter::filterAcceptsRow(int row, const QModelIndex&) const {
  const auto* const model = static_cast<const PredictionsModel*>(sourceModel());
  if (model == nullptr || model->detail() == nullptr) return false;
  const ProbePrediction& one = model->at(row);
  if (cell_) {
    if (!one.isOfCell(model->detail()->question, cell_->first, cell_->second)) return false;
  } else if (misclassified_only_ && one.isCorrect()) {
    return false;
  }
  return text_.isEmpty() || model->text(row).contains(text_, Qt::CaseInsensitive);
}

}  // namespace lime::explorer
