// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QSortFilterProxyModel>
#include <optional>
#include <utility>

namespace lime::explorer {

/// Filters and sorts the rows of a PredictionsModel.
class PredictionsFilter : public QSortFilterProxyModel {
  Q_OBJECT

 public:
  using Cell = std::pair<int, int>;  ///< of the confusion matrix: true and predicted class

  explicit PredictionsFilter(QObject* parent = nullptr);

  void setMisclassifiedOnly(bool misclassified_only);
  /// Keeps one cell of the confusion matrix, or all.
  void setCell(std::optional<Cell> cell);
  const std::optional<Cell>& cell() const { return cell_; }
  /// Keeps rows whose sentences contain `text`.
  void setText(const QString& text);

 protected:
  bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

 private:
  bool misclassified_only_ = true;
  std::optional<Cell> cell_;
  QString text_;
};

}  // namespace lime::explorer
