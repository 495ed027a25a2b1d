// SPDX-License-Identifier: Apache-2.0
#include "explorer/interventions/line_tokens.h"

#include <QColor>
#include <QHBoxLayout>
#include <QPalette>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <optional>

#include "explorer/interventions/intervention_figures.h"
#include "explorer/interventions/scored_lines.h"
#include "explorer/widgets/controls.h"
#include "explorer/widgets/figure_pane.h"
#include "explorer/widgets/theme.h"

namespace lime::explorer {
namespace {

/// Changes below this many nats are no more than a hint of colour, however small the others are.
constexpr double kLeastScale = 1.0;

QString percentOfLog(double log_probability) {
  return u"%1%"_s.arg(100.0 * std::exp(log_probability), 0, 'g', 3);
}

/// Describes a token in place `at` of a line, and the loss that the edits cause.
QString describeScored(const LineReading& before, const LineReading& after, std::size_t at) {
  const QString token = visibleToken(before[at].token);
  if (!before[at].log_probability) return u"'%1': the first token has no prediction"_s.arg(token);
  const double original = *before[at].log_probability;
  const QString text = u"'%1': original probability %2"_s.arg(token, percentOfLog(original));
  if (at >= after.size() || !after[at].log_probability) return text;
  const double edited = *after[at].log_probability;
  return text + u", edited %1; the edits change the loss of this token by %2 nats"_s.arg(
                    percentOfLog(edited), withSign(original - edited, 3));
}

constexpr std::size_t kShownTokens = 7;

QToolButton* arrowButton(Qt::ArrowType arrow, const QString& name, const QString& toolTip) {
  auto* const button = new QToolButton;
  button->setArrowType(arrow);
  button->setAccessibleName(name);
  button->setToolTip(toolTip);
  return button;
}

}  // namespace

std::vector<TextToken> scoredTokens(const LineReading& before, const LineReading& after) {
  constexpr float kFullest = 0.75F;  // text stays readable, on dark and on light
  std::vector<std::optional<double>> costs(before.size());
  double largest = kLeastScale;
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    if (!before[i].log_probability || !after[i].log_probability) continue;
    costs[i] = *before[i].log_probability - *after[i].log_probability;
    largest = std::max(largest, std::abs(*costs[i]));
  }
  std::vector<TextToken> tokens;
  for (std::size_t i = 0; i < before.size(); ++i) {
    tokens.push_back(
        {.text = visibleToken(before[i].token), .description = describeScored(before, after, i)});
    if (!costs[i]) continue;
    QColor& ground = tokens.back().ground;
    ground = lossColour(*costs[i] > 0.0);
    ground.setAlphaF(kFullest * static_cast<float>(std::abs(*costs[i]) / largest));
  }
  if (!before.empty()) tokens.push_back({.text = QChar(0x2026), .description = u"Next token"_s});
  return tokens;
}

LineTokens::LineTokens(FigurePane& next)
    : next_(next),
      title_(makeCaption()),
      previous_line_(
          arrowButton(Qt::LeftArrow, u"previous line"_s, u"Show the previous line (Alt+Up)"_s)),
      next_line_(arrowButton(Qt::RightArrow, u"next line"_s, u"Show the next line (Alt+Down)"_s)),
      list_(new TokenText(u"tokens of the line, coloured by the change in loss"_s)) {
  title_->setTextFormat(Qt::PlainText);
  title_->setForegroundRole(QPalette::PlaceholderText);
  list_->setToolTip(
      u"Purple: lower probability after the intervention; green: higher. Select a token to see the "
      u"predictions in its place"_s);
  list_->setFixedHeight(3 * (list_->fontMetrics().height() + 10) + 6);
  auto* const row = new QHBoxLayout;
  row->setContentsMargins(0, 0, 12, 0);
  row->addWidget(title_, 1);
  row->addWidget(previous_line_);
  row->addWidget(next_line_);
  QVBoxLayout* const column = fillWithColumn(*this);
  column->addLayout(row);
  column->addWidget(list_);
  next_.plot().setDescriber([this](const FigureHit& hit) { return describeNext(hit); });
  connect(previous_line_, &QToolButton::clicked, this, [this] { Q_EMIT lineRequested(line_ - 1); });
  connect(next_line_, &QToolButton::clicked, this, [this] { Q_EMIT lineRequested(line_ + 1); });
  const auto describe = [this](int token) {
    Q_EMIT status(token < 0 ? QString()
                            : list_->tokens()[static_cast<std::size_t>(token)].description);
  };
  connect(list_, &TokenText::hovered, this, describe);
  connect(list_, &TokenText::selected, this, [this, describe](int token) {
    describe(token);
    drawNext();
  });
}

void LineTokens::show(const InterventionRun& run, std::size_t colour) {
  colour_ = colour;
  const auto& request = run.request();
  line_ = request ? request->line : 0;
  const int num_lines = request ? static_cast<int>(request->lines.size()) : 0;
  previous_line_->setEnabled(line_ > 0);
  next_line_->setEnabled(line_ + 1 < num_lines);
  title_->setText(
      num_lines == 0
          ? u"Tokens"_s
          : u"Tokens of line %1 of %2, coloured by the change in loss"_s.arg(line_ + 1).arg(
                num_lines));
  const LineReading* const original = run.originalReading();
  const LineReading* const edited = run.editedReading();
  original_ = original == nullptr ? LineReading() : *original;
  edited_ = edited == nullptr ? LineReading() : *edited;
  // The next token is shown, unless the user selected another place.
  const int place = list_->current();
  const bool was_last = place < 0 || place + 1 >= std::ssize(list_->tokens());
  list_->setTokens(scoredTokens(original_, edited_));
  const int last = static_cast<int>(list_->tokens().size()) - 1;
  list_->setCurrent(was_last ? last : std::min(place, last));
  drawNext();
}

void LineTokens::drawNext() {
  const int place = list_->current();
  const auto behind = static_cast<std::size_t>(std::max(place - 1, 0));
  if (place < 1 || behind >= original_.size() || behind >= edited_.size()) {
    next_.show(std::nullopt, place == 0
                                 ? u"The first token has no prediction. Select a later one."_s
                             : original_.empty() ? u"Next-token predictions of both models."_s
                                                 : u"Reading ..."_s);
    return;
  }
  const bool is_end = place == static_cast<int>(original_.size());
  next_.show(nextTokensFigure(original_[behind], edited_[behind], kShownTokens, colour_), {},
             is_end
                 ? u"Predicted next token"_s
                 : u"Predicted in place of '%1'"_s.arg(visibleToken(original_[behind + 1].token)));
}

QString LineTokens::describeNext(const FigureHit& hit) const {
  const Figure* const figure = next_.plot().figure();
  if (figure == nullptr || !hit.point) return {};
  const auto& bars = std::get<BarPanel>(figure->panels.front().content);
  const auto value = [&](std::size_t series) {
    return toQString(bars.series[series].stars[hit.point->index]);
  };
  return u"'%1': original %2, edited %3"_s.arg(toQString(bars.groups[hit.point->index]), value(0),
                                               value(1));
}

}  // namespace lime::explorer
