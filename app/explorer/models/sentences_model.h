// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractTableModel>
#include <memory>

namespace lime {
class CaptureReader;
}  // namespace lime

namespace lime::explorer {

/// The sequences of a capture.
class SentencesModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kNumber, kTokens, kText, kColumns };

  using QAbstractTableModel::QAbstractTableModel;

  /// @param capture  may be null.
  void setCapture(std::shared_ptr<const CaptureReader> capture);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  /// Sorts by Qt::UserRole; Qt::ToolTipRole is the beginning of the text.
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  QString textOf(int row) const;

  std::shared_ptr<const CaptureReader> capture_;
};

}  // namespace lime::explorer
