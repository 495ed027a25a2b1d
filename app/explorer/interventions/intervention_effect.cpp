// SPDX-License-Identifier: Apache-2.0
#include "explorer/interventions/intervention_effect.h"

#include <QLocale>
#include <QSignalBlocker>
#include <cmath>

#include "explorer/interventions/intervention_figures.h"
#include "explorer/interventions/line_tokens.h"
#include "explorer/interventions/run_bar.h"
#include "explorer/interventions/text_editor.h"
#include "explorer/models/figures.h"
#include "explorer/widgets/controls.h"
#include "explorer/widgets/figure_pane.h"
#include "explorer/widgets/figure_view.h"
#include "explorer/widgets/theme.h"

namespace lime::explorer {
namespace {

const QChar kArrow(0x2192);

/// With a true minus.
QString number(double value, char format, int digits) {
  return QString::number(value, format, digits).replace(u'-', QChar(0x2212));
}

/// "0.003 → 0.412". A narrow label breaks it after the arrow, never within a number.
QString beforeAfter(const QString& before, const QString& after) {
  return before + QChar::Nbsp + kArrow + u' ' + after;
}

QString beforeAfter(double before, double after, char format, int digits) {
  return beforeAfter(number(before, format, digits), number(after, format, digits));
}

/// With a plus as well.
QString change(double value, char format, int digits) {
  return (value < 0.0 ? QString() : u"+"_s) + number(value, format, digits);
}

/// "8.507", "246,500".
QString perplexity(double value) {
  constexpr double kLeastGrouped = 1e4;
  constexpr double kMaxGrouped = 1e9;
  if (value < kLeastGrouped || value >= kMaxGrouped) return number(value, 'g', 4);
  return QLocale(QLocale::English).toString(value, 'f', 0);
}

/// "1 line", "5 lines".
QString counted(std::int64_t count, const char* what) {
  return u"%1 %2%3"_s.arg(count).arg(QLatin1String(what), count == 1 ? QString() : u"s"_s);
}

/// A number of a text, original and edited, and its change.
struct Score {
  const char* title;
  const char* tool_tip;
  QString values{QChar(0x2013)};
  QString change{u" "_s};
};

/// Returns loss, perplexity and log-likelihood of a text; dashes without a score.
std::array<Score, 3> scoresOf(const std::optional<TextScore>& score) {
  std::array<Score, 3> scores = {
      Score{"Loss, nats per token",
            "Negative mean log-probability of the tokens of 'Loss of', each given the tokens "
            "before it in its line"},
      Score{"Perplexity",
            "exp of the loss: the number of equally likely tokens with the same loss"},
      Score{"Log-likelihood, nats", "Sum of the log-probabilities of these tokens"}};
  if (!score || score->tokens == 0) return scores;
  const double before = score->lossBefore();
  const double after = score->lossAfter();
  scores[0].values = beforeAfter(before, after, 'f', 4);
  scores[0].change = change(after - before, 'f', 4);
  scores[1].values = beforeAfter(perplexity(std::exp(before)), perplexity(std::exp(after)));
  scores[1].change = u"× %1"_s.arg(std::exp(after - before), 0, 'g', 4);
  scores[2].values = beforeAfter(score->before, score->after, 'f', 2);
  scores[2].change = u"%1; %2 in %3"_s.arg(
      change(score->after - score->before, 'f', 2), counted(score->tokens, "token"),
      counted(static_cast<std::int64_t>(score->lines.size()), "line"));
  return scores;
}

}  // namespace

InterventionEffect::InterventionEffect()
    : next_(new FigurePane(u"next-token predictions"_s)),
      entropies_(new FigurePane(u"entropies over layers"_s)),
      editor_(new TextEditor),
      run_bar_(new RunBar),
      note_(new QLabel),
      tokens_(new LineTokens(*next_)),
      site_(new QComboBox) {
  note_->setWordWrap(true);
  note_->setTextFormat(Qt::PlainText);
  note_->setContentsMargins(12, 4, 12, 4);
  note_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  note_->setAccessibleName(u"notes on the results"_s);
  note_->setBackgroundRole(QPalette::Midlight);
  note_->setAutoFillBackground(true);
  auto* const upper = new QWidget;
  QVBoxLayout* const column = fillWithColumn(*upper);
  column->addWidget(editor_, 1);
  column->addWidget(run_bar_);
  column->addWidget(note_);
  auto* const lower = new QWidget;
  QVBoxLayout* const results = fillWithColumn(*lower);
  results->addLayout(makeScores());
  results->addWidget(tokens_);
  results->addWidget(makeFigures(), 1);
  fillWithColumn(*this)->addWidget(makeSplitter(Qt::Vertical, {upper, lower}, {190, 430}));
  entropies_->plot().setDescriber([this](const FigureHit& hit) {
    if (const ResultRow* const route = routeAt(hit)) return describeRoute(*route, layer_base_);
    if (const ResultRow* const row = partAt(hit)) {
      return describePart(*row, *partOf(*row), layer_base_);
    }
    return describeCurvePoint(entropies_->plot().figure(), hit, u"entropy"_s);
  });
  connect(&entropies_->plot(), &FigureView::clicked, this, [this](const FigureHit& hit) {
    if (const ResultRow* const route = routeAt(hit)) {
      Q_EMIT routeSelected(static_cast<int>(route->integer(col::kLayer)),
                           static_cast<int>(route->integer(col::kSource)));
    }
    if (const ResultRow* const row = partAt(hit)) Q_EMIT partSelected(*partOf(*row));
  });
  connect(tokens_, &LineTokens::status, this, &InterventionEffect::status);
  connect(tokens_, &LineTokens::lineRequested, this, &InterventionEffect::lineRequested);
  connect(editor_, &TextEditor::lineSelected, this, &InterventionEffect::lineRequested);
  connect(site_, &QComboBox::activated, this, &InterventionEffect::siteChanged);
}

/// Returns the colour of changes of a score: that of tokens with a higher loss, or a lower one.
QColor InterventionEffect::changeColour(const std::optional<TextScore>& score) const {
  const bool is_known = score && score->tokens > 0 && score->before != score->after;
  if (!is_known) return palette().color(QPalette::Text);
  return lossColour(score->after < score->before, palette());
}

QLayout* InterventionEffect::makeScores() {
  auto* const row = new QHBoxLayout;
  row->setContentsMargins(12, 6, 12, 6);
  row->setSpacing(12);
  for (const Score& score : scoresOf({})) {
    scores_.push_back(new QLabel);
    scores_.back()->setTextFormat(Qt::RichText);
    scores_.back()->setTextInteractionFlags(Qt::TextSelectableByMouse);
    scores_.back()->setAccessibleName(QLatin1String(score.title));
    scores_.back()->setToolTip(QLatin1String(score.tool_tip));
    scores_.back()->setMinimumWidth(40);
    scores_.back()->setWordWrap(true);
    row->addWidget(scores_.back(), scores_.size() < 3 ? 3 : 4);
  }
  return row;
}

QWidget* InterventionEffect::makeFigures() {
  site_->setAccessibleName(u"activations of the entropies, or the ablation of every component"_s);
  site_->setMinimumWidth(kLeastBoxWidth);
  setHasRoutes(true);
  site_->setToolTip(
      u"Matrix-based Renyi entropy of order 1/2 of the text's tokens (Sanchez Giraldo et al. "
      u"2015): outputs of W_V, inputs of attention through the router, or the residual stream. "
      u"Or the change in loss when each route, part or head of the original model is ablated in "
      u"turn"_s);
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

QStringList InterventionEffect::secondLines() const {
  const int most = run_bar_->maxLines();
  return most > 0 ? editor_->secondLines().mid(0, most) : editor_->secondLines();
}

void InterventionEffect::setHasRoutes(bool has_routes) {
  if (has_routes_ == has_routes) return;
  has_routes_ = has_routes;
  const QString shown = site();
  const QSignalBlocker quiet(site_);
  site_->clear();
  if (has_routes) {
    site_->addItem(u"values"_s, u"values"_s);
    site_->addItem(u"routed values"_s, u"routed_values"_s);
    site_->addItem(u"hidden"_s, u"hidden"_s);
    site_->addItem(u"loss without each route"_s, kSweepSite);
  }
  site_->addItem(u"loss without attention or MLP"_s, kPartSweepSite);
  site_->addItem(u"loss without each head"_s, kHeadSweepSite);
  if (!has_routes) site_->addItem(u"hidden"_s, u"hidden"_s);
  selectData(*site_, shown);
}

QString InterventionEffect::site() const { return site_->currentData().toString(); }

Json InterventionEffect::state() const {
  const auto [scored, scored_text] = run_bar_->scored();
  return {{"text", editor_->text().toStdString()},
          {"second_text", editor_->secondText().toStdString()},
          {"lines", run_bar_->maxLines()},
          {"scored", scored},
          {"scored_text", scored_text.toStdString()},
          {"site", site().toStdString()},
          {"live", run_bar_->runsLive()}};
}

void InterventionEffect::setState(const Json& state) {
  editor_->setText(toQString(state.value("text", editor_->text().toStdString())));
  editor_->setSecondText(
      toQString(state.value("second_text", editor_->secondText().toStdString())));
  run_bar_->setMaxLines(state.value("lines", run_bar_->maxLines()));
  const auto [scored, scored_text] = run_bar_->scored();
  run_bar_->setScored(state.value("scored", scored),
                      toQString(state.value("scored_text", scored_text.toStdString())));
  selectData(*site_, toQString(state.value("site", std::string())));
  run_bar_->setRunsLive(state.value("live", run_bar_->runsLive()));
}

void InterventionEffect::showRun(const InterventionRun& run, const QString& note,
                                 const Preferences& preferences, std::size_t colour) {
  const FigureStyle style = screenStyle(*this, preferences);
  next_->plot().setFigureStyle(style);
  entropies_->plot().setFigureStyle(style);
  run_bar_->showProgress(run);
  showNote(note);
  const std::array<Score, 3> scores = scoresOf(run.score());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    scores_[i]->setText(
        u"<span style='color:%1'>%2</span><br><big>%3</big><br><span style='color:%5'>%4</span>"_s
            .arg(mutedText(palette()).name(), QLatin1String(scores[i].title), scores[i].values,
                 scores[i].change, changeColour(run.score()).name()));
  }
  editor_->setScores(run.score() ? run.score()->lines : std::vector<LineScore>(),
                     run.request() ? run.request()->line : 0);
  editor_->setGenerated(run.request() ? run.request()->lines.value(run.request()->line) : QString(),
                        run.originalReading(), run.editedReading());
  tokens_->show(run, colour);
  sweep_ = run.sweep(sweptOver(site()));
  layer_base_ = preferences.layer_base;
  colour_ = colour;
  drawEntropies(run);
}

void InterventionEffect::showNote(const QString& note) {
  note_->setText(note);
  note_->setVisible(!note.isEmpty());
}

const ResultRow* InterventionEffect::routeAt(const FigureHit& hit) const {
  return site() == kSweepSite && sweep_ ? sweptRouteAt(*sweep_, hit) : nullptr;
}

const ResultRow* InterventionEffect::partAt(const FigureHit& hit) const {
  if (!sweep_ || site() == kSweepSite) return nullptr;
  if (hit.cell) {
    return sweptPart(*sweep_,
                     {.part = DecoderPart::kHead, .layer = hit.cell->row, .head = hit.cell->col});
  }
  const Curve* const curve = curveAt(entropies_->plot().figure(), hit);
  const auto part = curve ? find_enum<DecoderPart>(curve->label) : std::nullopt;
  if (!part) return nullptr;
  const auto layer = static_cast<int>(std::lround(curve->x[hit.point->index])) - layer_base_;
  return sweptPart(*sweep_, {.part = *part, .layer = layer});
}

void InterventionEffect::drawEntropies(const InterventionRun& run) {
  const bool is_sweep = !sweptOver(site()).isEmpty();
  const bool is_routes = site() == kSweepSite;
  std::optional<Figure> figure;
  QString message = run.isRunning() ? u"Measuring ..."_s : u"Entropies per layer of both models."_s;
  const QString what = is_routes                  ? u"each route"_s
                       : site() == kHeadSweepSite ? u"each head"_s
                                                  : u"attention or MLP of each layer"_s;
  if (is_sweep && (!run.isRunning() || run.request()->sweep != sweptOver(site()))) {
    message =
        u"Change in loss without %1 of the original model, one after another. Press Run "
        u"(Ctrl+Return) to compute it."_s.arg(what);
  }
  try {
    if (is_sweep && sweep_) {
      figure = sweepFigure(*sweep_, layer_base_);
    } else if (!is_sweep && run.entropies()) {
      figure = entropiesFigure(*run.entropies(), site(), layer_base_, colour_);
    }
  } catch (const Error& error) {
    message = toQString(error);
  }
  const QString caption = is_sweep ? u"Loss without %1"_s.arg(what) : u"Entropy over layers"_s;
  entropies_->show(std::move(figure), message, caption,
                   is_sweep
                       ? u"Purple, or above 0: the loss rises without it. Crossed out: the 95% "
                         u"interval contains 0; fewer than 10 lines have no intervals. "
                         u"Click one to select it"_s
                       : QString());
}

}  // namespace lime::explorer
