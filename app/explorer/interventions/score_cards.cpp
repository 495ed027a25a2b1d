// SPDX-License-Identifier: Apache-2.0
#include "explorer/interventions/score_cards.h"

#include <QGridLayout>
#include <QLabel>
#include <QLocale>
#include <cmath>

namespace lime::explorer {
namespace {

const QChar kArrow(0x2192);

/// With a true minus.
QString number(double value, char format, int digits) {
  return QString::number(value, format, digits).replace(QLatin1Char('-'), QChar(0x2212));
}

/// "0.003 → 0.412".
QString beforeAfter(double before, double after, char format, int digits) {
  return QStringLiteral("%1 %2 %3")
      .arg(number(before, format, digits), kArrow, number(after, format, digits));
}

/// With a plus as well.
QString change(double value, char format, int digits) {
  return (value < 0.0 ? QString() : QStringLiteral("+")) + number(value, format, digits);
}

/// "8.507", "246,500".
QString perplexity(double value) {
  constexpr double kLeastGrouped = 1e4;
  constexpr double kMostGrouped = 1e9;
  if (value < kLeastGrouped || value >= kMostGrouped) return number(value, 'g', 4);
  return QLocale(QLocale::English).toString(value, 'f', 0);
}

/// "1 line", "5 lines".
QString counted(std::int64_t count, const char* what) {
  return QStringLiteral("%1 %2%3").arg(count).arg(QLatin1String(what),
                                                  count == 1 ? QString() : QStringLiteral("s"));
}

}  // namespace

ScoreCards::ScoreCards(QWidget* parent) : QWidget(parent) {
  auto* const grid = new QGridLayout(this);
  grid->setContentsMargins(12, 6, 12, 6);
  grid->setVerticalSpacing(0);
  loss_ =
      addCard(*grid, 0, QStringLiteral("Loss, nats per token"),
              QStringLiteral("Negative mean log-probability of the text's tokens, each given the "
                             "tokens before it in its line"));
  perplexity_ = addCard(*grid, 1, QStringLiteral("Perplexity"),
                        QStringLiteral("exp of the loss: the number of equally likely tokens with "
                                       "the same loss"));
  likelihood_ = addCard(*grid, 2, QStringLiteral("Log-likelihood, nats"),
                        QStringLiteral("Sum of the log-probabilities of the text's tokens"));
}

ScoreCards::Card ScoreCards::addCard(QGridLayout& grid, int column, const QString& title,
                                     const QString& toolTip) {
  auto* const caption = new QLabel(title);
  caption->setForegroundRole(QPalette::PlaceholderText);
  Card card{new QLabel, new QLabel};
  QFont large = card.values->font();
  large.setPointSizeF(1.2 * large.pointSizeF());
  card.values->setFont(large);
  card.values->setAccessibleName(title);
  int row = 0;
  for (QLabel* const label : {caption, card.values, card.change}) {
    label->setToolTip(toolTip);
    label->setTextFormat(Qt::PlainText);
    label->setMinimumWidth(40);
    if (label != caption) label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    grid.addWidget(label, row++, column);
  }
  grid.setColumnStretch(column, 1);
  return card;
}

void ScoreCards::show(const std::optional<TextScore>& score) {
  const QString nothing(QChar(0x2013));
  for (const Card& card : {loss_, perplexity_, likelihood_}) {
    card.values->setText(nothing);
    card.change->setText(QStringLiteral(" "));
  }
  if (!score || score->tokens == 0) return;
  const double before = score->lossBefore();
  const double after = score->lossAfter();
  loss_.values->setText(beforeAfter(before, after, 'f', 4));
  loss_.change->setText(change(after - before, 'f', 4));
  perplexity_.values->setText(
      QStringLiteral("%1 %2 %3")
          .arg(perplexity(std::exp(before)), kArrow, perplexity(std::exp(after))));
  perplexity_.change->setText(QStringLiteral("× %1").arg(std::exp(after - before), 0, 'g', 4));
  likelihood_.values->setText(beforeAfter(score->before, score->after, 'f', 2));
  likelihood_.change->setText(
      QStringLiteral("%1; %2 in %3")
          .arg(change(score->after - score->before, 'f', 2), counted(score->tokens, "token"),
               counted(static_cast<std::int64_t>(score->lines.size()), "line")));
}

}  // namespace lime::explorer
