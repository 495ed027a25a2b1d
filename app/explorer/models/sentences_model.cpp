// SPDX-License-Identifier: Apache-2.0
#include "explorer/models/sentences_model.h"

#include <utility>

#include "explorer/models/text.h"
#include "store/capture_reader.h"

namespace lime::explorer {
namespace {

constexpr int kShownCharacters = 300;
constexpr qsizetype kToolTipCharacters = 1000;

}  // namespace

void SentencesModel::setCapture(std::shared_ptr<const CaptureReader> capture) {
  if (capture == capture_) return;
  beginResetModel();
  capture_ = std::move(capture);
  endResetModel();
}

int SentencesModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() || !capture_ ? 0 : static_cast<int>(capture_->num_sequences());
}

int SentencesModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

QString SentencesModel::textOf(int row) const {
  const std::string& text = capture_->sequences()[static_cast<std::size_t>(row)].text;
  return toQString(text).replace(QLatin1Char('\n'), QLatin1Char(' '));
}

QVariant SentencesModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const auto at = static_cast<std::size_t>(index.row());
  if (role == Qt::TextAlignmentRole) {
    return static_cast<int>((index.column() == kText ? Qt::AlignLeft : Qt::AlignRight) |
                            Qt::AlignVCenter);
  }
  if (role == Qt::ToolTipRole) return textOf(index.row()).left(kToolTipCharacters);
  if (role != Qt::DisplayRole && role != Qt::UserRole) return {};
  switch (index.column()) {
    case kNumber:
      return index.row();
    case kTokens:
      return static_cast<qlonglong>(capture_->offsets()[at + 1] - capture_->offsets()[at]);
    default:
      return role == Qt::DisplayRole ? textOf(index.row()).left(kShownCharacters)
                                     : textOf(index.row());
  }
}

QVariant SentencesModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  switch (section) {
    case kNumber:
      return QStringLiteral("No.");
    case kTokens:
      return QStringLiteral("Tokens");
    default:
      return QStringLiteral("Sequence");
  }
}

}  // namespace lime::explorer
