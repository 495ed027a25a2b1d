// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractTableModel>
#include <QString>
#include <map>
#include <memory>

#include "explorer/models/probe_detail.h"

namespace lime::explorer {

/// What a probe took each token, or each minimal pair, for. Texts are looked up when they are
/// shown.
class JudgementsModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  /// Of tokens: true and predicted class, probability of the true one, the sentence. Of pairs:
  /// task, probabilities that the good and the bad sentence are good, both sentences.
  enum Column { kFirst, kSecond, kThird, kSentence, kOther, kColumns };
  /// kBefore, kHere and kAfter are those of SelectedTokensModel, for SentenceDelegate.
  enum Role { kBefore = Qt::UserRole, kHere, kAfter, kSort, kIsRight };

  using QAbstractTableModel::QAbstractTableModel;

  void setDetail(std::shared_ptr<const ProbeDetail> detail);
  const ProbeDetail* detail() const { return detail_.get(); }
  const ProbeJudgement& at(int row) const {
    return detail_->judgements[static_cast<std::size_t>(row)];
  }

  /// The sentence of a token, or both sentences of a pair.
  QString text(int row) const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  bool isOfPairs() const;
  TokenInSentence sentenceOf(int row) const;
  QString textOf(std::int64_t capture_row) const;
  QVariant shown(const QModelIndex& index) const;
  QVariant sorted(const QModelIndex& index) const;
  QString toolTip(const QModelIndex& index) const;

  std::shared_ptr<const ProbeDetail> detail_;
  mutable std::map<int, TokenInSentence> sentences_;  ///< by row, those that have been shown
};

}  // namespace lime::explorer
