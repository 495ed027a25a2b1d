// SPDX-License-Identifier: Apache-2.0
#include "explorer/interventions/intervention_tables.h"

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

QString describeToken(const ScoredToken& token) {
  if (!token.before)
    return QStringLiteral("'%1': the first token has no prediction").arg(token.text);
  const QString text =
      QStringLiteral("'%1': original probability %2").arg(token.text, percentOfLog(*token.before));
  if (!token.after) return text;
  const double cost = *token.before - *token.after;
  return text + QStringLiteral(", edited %1; the edits %2 %3 nats")
                    .arg(percentOfLog(*token.after),
                         cost >= 0.0 ? QStringLiteral("cost") : QStringLiteral("gain"))
                    .arg(std::abs(cost), 0, 'f', 3);
}

QString lossText(double log_likelihood, const LineScore& line) {
  return QString::number(-log_likelihood / static_cast<double>(line.tokens), 'f', 3);
}

}  // namespace

ScoredTokens::ScoredTokens()
    : TableModel({{.title = QStringLiteral("Token"),
                   .text = [](const ScoredToken& token) { return token.text; },
                   .further = [this](const ScoredToken& token,
                                     int role) { return further(token, role); }}}) {}

void ScoredTokens::setReadings(const LineReading& before, const LineReading& after) {
  std::vector<ScoredToken> tokens;
  largest_ = kLeastScale;
  for (std::size_t i = 0; i < before.size(); ++i) {
    ScoredToken token{.text = visibleToken(before[i].token), .before = before[i].log_probability};
    if (i < after.size()) token.after = after[i].log_probability;
    if (token.before && token.after) {
      largest_ = std::max(largest_, std::abs(*token.before - *token.after));
    }
    tokens.push_back(std::move(token));
  }
  if (!before.empty()) tokens.push_back({.text = QChar(0x2026)});  // the next token
  setRows(std::move(tokens));
}

QString ScoredTokens::describe(int row) const {
  if (row < 0 || row >= rowCount()) return {};
  return row + 1 == rowCount() ? QStringLiteral("Next token") : describeToken(at(row));
}

QVariant ScoredTokens::further(const ScoredToken& token, int role) const {
  switch (role) {
    case Qt::ToolTipRole:
    case Qt::AccessibleDescriptionRole:
      return describe(static_cast<int>(&token - rows().data()));
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

ScoredLines::ScoredLines() {
  const QString help = QStringLiteral("Loss of the line: minus its log-likelihood per token, nats");
  setTable({{.title = QStringLiteral("Line"),
             .text = [](const LineScore& line) { return QString::number(line.line + 1); },
             .is_number = true},
            {.title = QStringLiteral("Original"),
             .text = [](const LineScore& line) { return lossText(line.before, line); },
             .is_number = true,
             .help = help},
            {.title = QStringLiteral("Edited"),
             .text = [](const LineScore& line) { return lossText(line.after, line); },
             .is_number = true,
             .help = help},
            {.title = QStringLiteral("Change"),
             .text = [](const LineScore& line) { return withSign(line.change(), 3); },
             .is_number = true,
             .help = help},
            {.title = QStringLiteral("Text"),
             .text = [](const LineScore& line) { return line.text; },
             .further =
                 [](const LineScore& line, int role) {
                   return role == Qt::ToolTipRole ? QVariant(line.text) : QVariant();
                 }}},
           {});
}

void ScoredLines::setScores(std::vector<LineScore> lines) {
  std::stable_sort(lines.begin(), lines.end(), [](const LineScore& a, const LineScore& b) {
    return std::abs(a.change()) > std::abs(b.change());
  });
  setRows(std::move(lines));
}

int ScoredLines::rowOfLine(int line) const {
  const auto found = std::find_if(rows().begin(), rows().end(),
                                  [line](const LineScore& one) { return one.line == line; });
  return found == rows().end() ? -1 : static_cast<int>(found - rows().begin());
}

}  // namespace lime::explorer
