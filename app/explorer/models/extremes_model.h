// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractTableModel>
#include <QString>
#include <cstdint>
#include <vector>

namespace lime::explorer {

/// A sequence at one end of a layer's entropies.
struct ExtremeSequence {
  int document = 0;  ///< the capture's id in the workspace
  QString label;     ///< of the capture
  bool is_lowest = true;
  std::int64_t sequence = 0;
  double entropy = 0.0;  ///< nats
  double ceiling = 0.0;
  QString text;
};

/// The sequences at the extremes of a layer, of several captures.
class ExtremesModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kModel, kEnd, kEntropy, kSequence, kText, kColumns };

  using QAbstractTableModel::QAbstractTableModel;

  void setSequences(std::vector<ExtremeSequence> sequences);
  const ExtremeSequence& at(int row) const { return sequences_[static_cast<std::size_t>(row)]; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  std::vector<ExtremeSequence> sequences_;
};

}  // namespace lime::explorer
