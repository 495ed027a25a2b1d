// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractListModel>
#include <QAbstractTableModel>
#include <QString>
#include <optional>
#include <vector>

#include "explorer/models/surgery_result.h"

namespace lime::explorer {

/// The tokens of a line, each on the colour of what edits cost it: warm where it has become less
/// likely, cool where more. Behind them stands a place for what comes next.
class SurgeryTokens : public QAbstractListModel {
  Q_OBJECT

 public:
  using QAbstractListModel::QAbstractListModel;

  /// @param after  empty while it is not known.
  void setReadings(const LineReading& before, const LineReading& after);

  /// "'·is': probability 93.1 % as trained, 2.0 % edited; the edits cost it 3.84 nats".
  QString describe(int row) const;

  int rowCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;

 private:
  struct Token {
    QString text;
    std::optional<double> before;  ///< log-probability
    std::optional<double> after;
  };
  std::vector<Token> tokens_;
  double largest_ = 1.0;  ///< change that has the fullest colour, nats
};

/// The lines of a text with their losses, those that the edits change most first.
class SurgeryLines : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kLine, kBefore, kAfter, kChange, kText, kColumns };

  using QAbstractTableModel::QAbstractTableModel;

  void setScores(std::vector<LineScore> lines);
  int lineAt(int row) const { return lines_[static_cast<std::size_t>(row)].line; }
  int rowOfLine(int line) const;  ///< -1: none

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  std::vector<LineScore> lines_;
};

}  // namespace lime::explorer
