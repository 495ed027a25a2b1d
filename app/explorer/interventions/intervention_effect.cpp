// SPDX-License-Identifier: Apache-2.0
#include "explorer/interventions/intervention_effect.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QSplitter>
#include <QVBoxLayout>
#include <string_view>

#include "core/errors.h"
#include "explorer/interventions/intervention_run.h"
#include "explorer/interventions/line_tokens.h"
#include "explorer/interventions/run_bar.h"
#include "explorer/interventions/score_cards.h"
#include "explorer/interventions/text_editor.h"
#include "explorer/models/figure_text.h"
#include "explorer/models/text.h"
#include "explorer/widgets/choice_box.h"
#include "explorer/widgets/figure_pane.h"
#include "explorer/widgets/figure_view.h"
#include "explorer/widgets/pane_layout.h"
#include "explorer/widgets/theme.h"

namespace lime::explorer {

InterventionEffect::InterventionEffect(QWidget* parent)
    : QWidget(parent),
      next_(new FigurePane(QStringLiteral("next-token predictions"))),
      entropies_(new FigurePane(QStringLiteral("entropies over layers"))),
      editor_(new TextEditor),
      run_bar_(new RunBar),
      note_(new QLabel),
      scores_(new ScoreCards),
      tokens_(new LineTokens(*next_)),
      site_(new QComboBox) {
  note_->setWordWrap(true);
  note_->setTextFormat(Qt::PlainText);
  note_->setContentsMargins(12, 4, 12, 4);
  note_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  note_->setAccessibleName(QStringLiteral("notes on the results"));
  note_->setBackgroundRole(QPalette::Midlight);
  note_->setAutoFillBackground(true);
  auto* const upper = new QWidget;
  QVBoxLayout* const column = fillWithColumn(*upper);
  column->addWidget(editor_, 1);
  column->addWidget(run_bar_);
  column->addWidget(note_);
  auto* const lower = new QWidget;
  QVBoxLayout* const results = fillWithColumn(*lower);
  results->addWidget(scores_);
  results->addWidget(tokens_);
  results->addWidget(makeFigures(), 1);
  fillWithColumn(*this)->addWidget(makeSplitter(Qt::Vertical, {upper, lower}, {170, 450}));
  entropies_->plot().setDescriber([this](const FigureHit& hit) {
    return describeCurvePoint(entropies_->plot().figure(), hit, QStringLiteral("entropy"));
  });
  connect(tokens_, &LineTokens::status, this, &InterventionEffect::status);
  connect(tokens_, &LineTokens::lineRequested, this, &InterventionEffect::lineRequested);
  connect(editor_, &TextEditor::lineSelected, this, &InterventionEffect::lineRequested);
  connect(site_, &QComboBox::activated, this, &InterventionEffect::siteChanged);
}

QWidget* InterventionEffect::makeFigures() {
  site_->setAccessibleName(QStringLiteral("activations of the entropies"));
  site_->addItem(QStringLiteral("values"), QStringLiteral("values"));
  site_->addItem(QStringLiteral("routed values"), QStringLiteral("routed_values"));
  site_->addItem(QStringLiteral("hidden"), QStringLiteral("hidden"));
  site_->setToolTip(QStringLiteral(
      "Matrix-based Renyi entropy of order 1/2 of the text's tokens (Sanchez Giraldo et al. 2015): "
      "outputs of W_V, inputs of attention through the router, or the residual stream"));
  auto* const bar = new QHBoxLayout;
  bar->setContentsMargins(12, 0, 12, 0);
  bar->addStretch();
  bar->addWidget(site_);
  auto* const right = new QWidget;
  QVBoxLayout* const column = fillWithColumn(*right);
  column->addWidget(entropies_, 1);
  column->addLayout(bar);
  return makeSplitter(Qt::Horizontal, {next_, right}, {300, 300});
}

QStringList InterventionEffect::lines() const {
  const int most = run_bar_->maxLines();
  return most > 0 ? editor_->lines().mid(0, most) : editor_->lines();
}

QString InterventionEffect::site() const { return site_->currentData().toString(); }
void InterventionEffect::setSite(const QString& site) { selectData(*site_, site); }

void InterventionEffect::showRun(const InterventionRun& run, const QString& note,
                                 const Preferences& preferences) {
  const FigureStyle style = screenStyle(*this, preferences);
  next_->plot().setFigureStyle(style);
  entropies_->plot().setFigureStyle(style);
  run_bar_->showProgress(run);
  showNote(note);
  scores_->show(run.score());
  editor_->setScores(run.score() ? run.score()->lines : std::vector<LineScore>(),
                     run.question() ? run.question()->line : 0);
  tokens_->show(run);
  drawEntropies(run, preferences.layer_base);
}

void InterventionEffect::showNote(const QString& note) {
  note_->setText(note);
  note_->setVisible(!note.isEmpty());
}

void InterventionEffect::drawEntropies(const InterventionRun& run, int layer_base) {
  std::optional<Figure> figure;
  QString message = run.isRunning() ? QStringLiteral("Measuring ...")
                                    : QStringLiteral("Entropies per layer of both models.");
  if (run.entropies()) {
    try {
      figure = entropiesFigure(*run.entropies(), site(), layer_base);
    } catch (const Error& error) {
      message = toQString(error);
    }
  }
  const bool is_drawn = figure.has_value();
  entropies_->show(std::move(figure), message);
  if (is_drawn) entropies_->setCaption(QStringLiteral("Entropy over layers"));
}

}  // namespace lime::explorer
