// SPDX-License-Identifier: Apache-2.0
#include "explorer/models/selected_tokens_model.h"

#include <utility>

namespace lime::explorer {

void SelectedTokensModel::setTokens(std::vector<SelectedToken> tokens, const QString& note_title) {
  beginResetModel();
  tokens_ = std::move(tokens);
  note_title_ = note_title;
  endResetModel();
}

int SelectedTokensModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(tokens_.size());
}

int SelectedTokensModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

QVariant SelectedTokensModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const SelectedToken& token = at(index.row());
  const TokenInSentence& sentence = token.sentence;
  switch (role) {
    case kBefore:
      return sentence.before;
    case kHere:
      return sentence.token;
    case kAfter:
      return sentence.after;
    case Qt::ToolTipRole:
      return QStringLiteral("sequence %1, position %2\n%3")
          .arg(token.sequence)
          .arg(token.position)
          .arg(sentence.before + sentence.token + sentence.after);
    case Qt::DisplayRole:
      if (index.column() == kToken) return token.token;
      if (index.column() == kNote) return token.note;
      return sentence.before + sentence.token + sentence.after;
    default:
      return {};
  }
}

QVariant SelectedTokensModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  if (section == kToken) return QStringLiteral("Token");
  return section == kNote ? note_title_ : QStringLiteral("Sentence");
}

}  // namespace lime::explorer
