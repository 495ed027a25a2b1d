// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QSortFilterProxyModel>
#include <optional>
#include <utility>

namespace lime::explorer {

/// Those judgements of a JudgementsModel that somebody wants to see, sorted.
class JudgementsFilter : public QSortFilterProxyModel {
  Q_OBJECT

 public:
  explicit JudgementsFilter(QObject* parent = nullptr);

  void setWrongOnly(bool wrong_only);
  /// Only those of one cell of the confusion matrix: true and predicted class.
  void setCell(std::optional<std::pair<int, int>> cell);
  std::optional<std::pair<int, int>> cell() const { return cell_; }
  /// Only those whose texts hold `text`.
  void setText(const QString& text);

 protected:
  bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

 private:
  bool wrong_only_ = true;
  std::optional<std::pair<int, int>> cell_;
  QString text_;
};

}  // namespace lime::explorer
