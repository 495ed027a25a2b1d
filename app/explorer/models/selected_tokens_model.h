// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractTableModel>
#include <QString>
#include <vector>

#include "explorer/models/sentence_reader.h"

namespace lime::explorer {

/// A chosen token, as the list shows it.
struct SelectedToken {
  int point = 0;  ///< of its cloud
  QString token;
  QString note;  ///< class, or distance
  TokenInSentence sentence;
  int sequence = 0;
  int position = 0;
};

/// Chosen tokens in their sentences.
class SelectedTokensModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kToken, kNote, kSentence, kColumns };
  enum Role { kBefore = Qt::UserRole, kHere, kAfter };

  using QAbstractTableModel::QAbstractTableModel;

  void setTokens(std::vector<SelectedToken> tokens, const QString& note_title);
  const SelectedToken& at(int row) const { return tokens_[static_cast<std::size_t>(row)]; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  std::vector<SelectedToken> tokens_;
  QString note_title_ = QStringLiteral("Class");
};

}  // namespace lime::explorer
