// SPDX-License-Identifier: Apache-2.0
// What the right side of route surgery shows of a run.
#include <QComboBox>
#include <QItemSelectionModel>
#include <QLabel>
#include <QListView>
#include <QLocale>
#include <QProgressBar>
#include <QPushButton>
#include <QSignalBlocker>
#include <QTableView>
#include <QToolButton>
#include <cmath>

#include "core/errors.h"
#include "explorer/models/surgery_run.h"
#include "explorer/models/text.h"
#include "explorer/views/figure_pane.h"
#include "explorer/views/figure_view.h"
#include "explorer/views/surgery_effect.h"
#include "explorer/views/theme.h"

namespace lime::explorer {
namespace {

constexpr std::size_t kShownTokens = 7;
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

void SurgeryEffect::showRun(const SurgeryRun& run, const QString& note,
                            const Preferences& preferences) {
  preferences_ = preferences;
  is_running_ = run.isRunning();
  run_->setText(is_running_ ? QStringLiteral("S&top") : QStringLiteral("R&un"));
  under_way_->setVisible(is_running_);
  showProgress(run);
  showNote(note);
  const FigureStyle style = screenStyle(*this, preferences_);
  next_->plot().setFigureStyle(style);
  entropies_->plot().setFigureStyle(style);
  showScore(run);
  showReadings(run);
  showEntropies(run);
}

void SurgeryEffect::showProgress(const SurgeryRun& run) {
  step_->setText(run.stepText());
  progress_->setValue(static_cast<int>(progress_->maximum() * run.share()));
}

void SurgeryEffect::showNote(const QString& note) {
  note_->setText(note);
  note_->setVisible(!note.isEmpty());
}

void SurgeryEffect::showScore(const SurgeryRun& run) {
  const QString nothing(QChar(0x2013));
  for (const Card& card : {loss_, perplexity_, likelihood_}) {
    card.values->setText(nothing);
    card.change->setText(QStringLiteral(" "));
  }
  if (!run.score() || run.score()->tokens == 0) {
    lines_.setScores({});
    return;
  }
  const TextScore& score = *run.score();
  const double before = score.lossBefore();
  const double after = score.lossAfter();
  loss_.values->setText(beforeAfter(before, after, 'f', 4));
  loss_.change->setText(change(after - before, 'f', 4));
  perplexity_.values->setText(
      QStringLiteral("%1 %2 %3")
          .arg(perplexity(std::exp(before)), kArrow, perplexity(std::exp(after))));
  perplexity_.change->setText(QStringLiteral("× %1").arg(std::exp(after - before), 0, 'g', 4));
  likelihood_.values->setText(beforeAfter(score.before, score.after, 'f', 2));
  likelihood_.change->setText(
      QStringLiteral("%1; %2 in %3")
          .arg(change(score.after - score.before, 'f', 2), counted(score.tokens, "token"),
               counted(static_cast<std::int64_t>(score.lines.size()), "line")));
  lines_.setScores(score.lines);
  const int row = lines_.rowOfLine(run.question()->line);
  if (row >= 0) table_->selectRow(row);
}

void SurgeryEffect::showReadings(const SurgeryRun& run) {
  const LineReading* const before = run.trainedReading();
  const LineReading* const after = run.editedReading();
  LineReading trained = before == nullptr ? LineReading() : *before;
  LineReading edited = after == nullptr ? LineReading() : *after;
  line_ = run.question() ? run.question()->line : 0;
  num_lines_ = run.question() ? static_cast<int>(run.question()->lines.size()) : 0;
  line_before_->setEnabled(line_ > 0);
  line_after_->setEnabled(line_ + 1 < num_lines_);
  line_title_->setText(num_lines_ == 0 ? QStringLiteral("Tokens")
                                       : QStringLiteral("Tokens of line %1 of %2, coloured by what "
                                                        "the edits cost")
                                             .arg(line_ + 1)
                                             .arg(num_lines_));
  const bool is_same = trained == before_ && edited == after_;
  before_ = std::move(trained);
  after_ = std::move(edited);
  if (!is_same) {
    const QSignalBlocker quiet(token_list_->selectionModel());
    const int place = token_list_->currentIndex().row();
    const bool was_last = place < 0 || place + 1 >= tokens_.rowCount();
    tokens_.setReadings(before_, after_);
    // What comes next is the question, unless somebody asked about another place.
    const int last = tokens_.rowCount() - 1;
    token_list_->setCurrentIndex(tokens_.index(was_last ? last : std::min(place, last)));
    token_list_->scrollTo(token_list_->currentIndex());
  }
  showNext();
}

void SurgeryEffect::showNext() {
  const int place = token_list_->currentIndex().row();
  const auto behind = static_cast<std::size_t>(std::max(place - 1, 0));
  next_->plot().setMessage(
      before_.empty() ? QStringLiteral("What the model expects next, before and after the edits.")
                      : QStringLiteral("Reading ..."));
  if (place < 1 || behind >= before_.size() || behind >= after_.size()) {
    next_->setCaption(place == 0 && !before_.empty()
                          ? QStringLiteral("The first token is given, not expected")
                          : QStringLiteral("Next tokens"));
    if (place == 0) next_->plot().setMessage(QStringLiteral("Choose a later token."));
    next_->plot().setFigure(std::nullopt);
    return;
  }
  const bool is_end = place == static_cast<int>(before_.size());
  next_->setCaption(is_end ? QStringLiteral("Expected next")
                           : QStringLiteral("Expected in place of '%1'")
                                 .arg(visibleToken(before_[behind + 1].token)));
  next_->plot().setFigure(nextTokensFigure(before_[behind], after_[behind], kShownTokens));
}

void SurgeryEffect::showEntropies(const SurgeryRun& run) {
  entropies_->setCaption(QStringLiteral("Entropy over layers"));
  entropies_->plot().setMessage(
      run.isRunning() ? QStringLiteral("Measuring ...")
                      : QStringLiteral("Entropies per layer, before and after the edits."));
  std::optional<Figure> figure;
  if (run.entropies()) {
    try {
      figure = entropiesFigure(*run.entropies(), site(), preferences_.layer_base);
    } catch (const Error& error) {
      entropies_->plot().setMessage(toQString(error));
    }
  }
  entropies_->plot().setFigure(std::move(figure));
}

void SurgeryEffect::describeNext(const FigureHit& hit) {
  const Figure* const figure = next_->plot().figure();
  QString text;
  if (figure != nullptr && hit.point) {
    const auto& bars = std::get<BarPanel>(figure->panels.front().content);
    const auto value = [&](std::size_t series) {
      return toQString(bars.series[series].stars[hit.point->index]);
    };
    text = QStringLiteral("'%1': %2 as trained, %3 edited")
               .arg(toQString(bars.groups[hit.point->index]), value(0), value(1));
  }
  Q_EMIT status(text);
}

void SurgeryEffect::describeEntropies(const FigureHit& hit) {
  const Figure* const figure = entropies_->plot().figure();
  QString text;
  if (figure != nullptr && hit.point) {
    const auto& panel = std::get<CurvePanel>(figure->panels[hit.panel].content);
    const Curve& curve = panel.curves[hit.point->series];
    text = QStringLiteral("%1, layer %2: entropy %3 nats")
               .arg(toQString(curve.label))
               .arg(curve.x[hit.point->index])
               .arg(curve.y[hit.point->index], 0, 'f', 4);
  }
  Q_EMIT status(text);
}

}  // namespace lime::explorer
