// SPDX-License-Identifier: Apache-2.0
#include "explorer/models/extremes_model.h"

#include <utility>

namespace lime::explorer {

void ExtremesModel::setSequences(std::vector<ExtremeSequence> sequences) {
  beginResetModel();
  sequences_ = std::move(sequences);
  endResetModel();
}

int ExtremesModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(sequences_.size());
}

int ExtremesModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

QVariant ExtremesModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const ExtremeSequence& sequence = at(index.row());
  if (role == Qt::TextAlignmentRole) {
    const bool is_number = index.column() == kEntropy || index.column() == kSequence;
    return static_cast<int>((is_number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  }
  if (role == Qt::ToolTipRole && index.column() == kText) return sequence.text;
  if (role == Qt::ToolTipRole && index.column() == kEntropy) {
    return QStringLiteral("of at most %1 nats").arg(sequence.ceiling, 0, 'f', 3);
  }
  if (role != Qt::DisplayRole) return {};
  switch (index.column()) {
    case kModel:
      return sequence.label;
    case kEnd:
      return sequence.is_lowest ? QStringLiteral("lowest") : QStringLiteral("highest");
    case kEntropy:
      return QString::number(sequence.entropy, 'f', 3);
    case kSequence:
      return QString::number(sequence.sequence);
    case kText:
      return QString(sequence.text).replace(QLatin1Char('\n'), QLatin1Char(' '));
    default:
      return {};
  }
}

QVariant ExtremesModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  switch (section) {
    case kModel:
      return QStringLiteral("Capture");
    case kEnd:
      return QStringLiteral("End");
    case kEntropy:
      return QStringLiteral("Entropy");
    case kSequence:
      return QStringLiteral("Sequence");
    case kText:
      return QStringLiteral("Text");
    default:
      return {};
  }
}

}  // namespace lime::explorer
