// SPDX-License-Identifier: Apache-2.0
#include "explorer/models/surgery_tables.h"

#include <QColor>
#include <algorithm>
#include <cmath>
#include <utility>

namespace lime::explorer {
namespace {

/// Changes below this many nats are no more than a hint of colour, however small the others are.
constexpr double kLeastScale = 1.0;

QString percentOfLog(double log_probability) {
  return QStringLiteral("%1 %").arg(100.0 * std::exp(log_probability), 0, 'g', 3);
}

QString withSign(double value, int digits) {
  const QString number = QString::number(value, 'f', digits);
  return value > 0.0 ? QLatin1Char('+') + number : number;
}

}  // namespace

void SurgeryTokens::setReadings(const LineReading& before, const LineReading& after) {
  beginResetModel();
  tokens_.clear();
  largest_ = kLeastScale;
  for (std::size_t i = 0; i < before.size(); ++i) {
    Token token{visibleToken(before[i].token), before[i].log_probability, {}};
    if (i < after.size()) token.after = after[i].log_probability;
    if (token.before && token.after) {
      largest_ = std::max(largest_, std::abs(*token.before - *token.after));
    }
    tokens_.push_back(std::move(token));
  }
  if (!before.empty()) tokens_.push_back({QChar(0x2026), {}, {}});  // what comes next
  endResetModel();
}

QString SurgeryTokens::describe(int row) const {
  if (row < 0 || row >= rowCount()) return {};
  const Token& token = tokens_[static_cast<std::size_t>(row)];
  if (row + 1 == rowCount()) return QStringLiteral("What comes next");
  if (!token.before) return QStringLiteral("'%1': the first token is given").arg(token.text);
  QString text = QStringLiteral("'%1': probability %2 as trained")
                     .arg(token.text, percentOfLog(*token.before));
  if (!token.after) return text;
  const double cost = *token.before - *token.after;
  return text + QStringLiteral(", %1 edited; the edits %2 it %3 nats")
                    .arg(percentOfLog(*token.after),
                         cost >= 0.0 ? QStringLiteral("cost") : QStringLiteral("gain"))
                    .arg(std::abs(cost), 0, 'f', 3);
}

int SurgeryTokens::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(tokens_.size());
}

QVariant SurgeryTokens::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const Token& token = tokens_[static_cast<std::size_t>(index.row())];
  switch (role) {
    case Qt::DisplayRole:
      return token.text;
    case Qt::ToolTipRole:
    case Qt::AccessibleDescriptionRole:
      return describe(index.row());
    case Qt::TextAlignmentRole:
      return static_cast<int>(Qt::AlignCenter);
    case Qt::BackgroundRole: {
      if (!token.before || !token.after) return {};
      const double cost = *token.before - *token.after;
      QColor colour = cost > 0.0 ? QColor(213, 94, 0) : QColor(0, 114, 178);
      constexpr double kFullest = 0.75;  // text stays readable, on dark and on light
      colour.setAlphaF(static_cast<float>(kFullest * std::abs(cost) / largest_));
      return colour;
    }
    default:
      return {};
  }
}

void SurgeryLines::setScores(std::vector<LineScore> lines) {
  std::stable_sort(lines.begin(), lines.end(), [](const LineScore& a, const LineScore& b) {
    return std::abs(a.change()) > std::abs(b.change());
  });
  beginResetModel();
  lines_ = std::move(lines);
  endResetModel();
}

int SurgeryLines::rowOfLine(int line) const {
  for (int row = 0; row < rowCount(); ++row) {
    if (lineAt(row) == line) return row;
  }
  return -1;
}

int SurgeryLines::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(lines_.size());
}

int SurgeryLines::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

QVariant SurgeryLines::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const LineScore& line = lines_[static_cast<std::size_t>(index.row())];
  if (role == Qt::TextAlignmentRole) {
    return static_cast<int>((index.column() == kText ? Qt::AlignLeft : Qt::AlignRight) |
                            Qt::AlignVCenter);
  }
  if (role == Qt::ToolTipRole && index.column() == kText) return line.text;
  if (role != Qt::DisplayRole) return {};
  const auto tokens = static_cast<double>(line.tokens);
  switch (index.column()) {
    case kLine:
      return QString::number(line.line + 1);
    case kBefore:
      return QString::number(-line.before / tokens, 'f', 3);
    case kAfter:
      return QString::number(-line.after / tokens, 'f', 3);
    case kChange:
      return withSign(line.change(), 3);
    case kText:
      return line.text;
    default:
      return {};
  }
}

QVariant SurgeryLines::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::ToolTipRole && section != kLine && section != kText) {
    return QStringLiteral("Loss of the line: minus its log-likelihood per token, nats");
  }
  if (role != Qt::DisplayRole) return {};
  switch (section) {
    case kLine:
      return QStringLiteral("Line");
    case kBefore:
      return QStringLiteral("As trained");
    case kAfter:
      return QStringLiteral("Edited");
    case kChange:
      return QStringLiteral("Change");
    case kText:
      return QStringLiteral("Text");
    default:
      return {};
  }
}

}  // namespace lime::explorer
