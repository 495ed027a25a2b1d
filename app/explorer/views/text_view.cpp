// SPDX-License-Identifier: Apache-2.0
#include "explorer/views/text_view.h"

#include <QAction>
#include <QComboBox>
#include <QEvent>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QSlider>
#include <QSplitter>
#include <QTabBar>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>
#include <cstdlib>

#include "analysis/attention_exploration.h"
#include "explorer/models/text.h"
#include "explorer/models/workspace.h"
#include "explorer/views/choice_box.h"
#include "explorer/views/figure_pane.h"
#include "explorer/views/figure_view.h"
#include "explorer/views/pane_layout.h"
#include "explorer/views/token_text.h"
#include "store/capture_reader.h"

namespace lime::explorer {
namespace {

/// Whether there is a row for every token.
bool holdsText(const CaptureReader& capture) {
  return capture.info().rows == RowKind::kTokens && capture.info().class_names.empty();
}

}  // namespace

TextView::TextView(const ViewContext& context, QWidget* parent)
    : View(QStringLiteral("Text"), context, parent),
      measurements_(context.workspace, context.jobs),
      rows_(context.workspace, context.jobs),
      text_(new TokenText),
      map_(new FigurePane(QStringLiteral("tokens in all layers"))),
      pattern_(new FigurePane(QStringLiteral("attention pattern"))),
      routed_(new FigurePane(QStringLiteral("routed attention"))),
      active_(map_) {
  QVBoxLayout* const column = fillWithColumn(*this);
  column->addWidget(makeBar());
  problems_ = makeNote(QStringLiteral("what could not be measured"));
  column->addWidget(problems_);
  QSplitter* const right = makeSplitter(Qt::Vertical, {makeText(), makeLower()}, {160, 490});
  column->addWidget(makeSplitter(Qt::Horizontal, {makeSentences(), right}, {250, 760}), 1);
  setFirstFocus(text_);
  connectAll();
  addActions();
  activate(map_);
  documentsChanged();
}

QWidget* TextView::makeBar() {
  auto* const widget = new QWidget;
  auto* const bar = new QHBoxLayout(widget);
  bar->setContentsMargins(12, 8, 12, 8);
  capture_ =
      addChoiceBox(*bar, QStringLiteral("C&apture"),
                   QStringLiteral("Whose text is shown; others of the same text stand beside "
                                  "it in the map"));
  site_ = addChoiceBox(*bar, QStringLiteral("S&ite"), QStringLiteral("Which activations"));
  measure_ = addChoiceBox(*bar, QStringLiteral("&Colour"),
                          QStringLiteral("What the colours of the tokens say"));
  for (const TokenMeasureName& one : tokenMeasures()) {
    measure_->addItem(QString::fromUtf8(one.title), QString::fromUtf8(one.key));
    measure_->setItemData(measure_->count() - 1, QString::fromUtf8(one.help), Qt::ToolTipRole);
  }
  layer_label_ = new QLabel;
  layer_slider_ = new QSlider(Qt::Horizontal);
  layer_slider_->setAccessibleName(QStringLiteral("layer"));
  layer_slider_->setToolTip(QStringLiteral("Layer of the coloured text and of the attention"));
  layer_slider_->setPageStep(1);
  layer_slider_->setTickPosition(QSlider::TicksBelow);
  layer_slider_->setTickInterval(1);
  layer_slider_->setMinimumWidth(120);
  bar->addWidget(layer_label_);
  bar->addWidget(layer_slider_, 1);
  return widget;
}

QWidget* TextView::makeSentences() {
  auto* const widget = new QWidget;
  auto* const column = new QVBoxLayout(widget);
  column->setContentsMargins(8, 4, 0, 0);
  search_ = new QLineEdit;
  search_->setPlaceholderText(QStringLiteral("find a sequence"));
  search_->setAccessibleName(QStringLiteral("find a sequence"));
  search_->setToolTip(QStringLiteral("Lists only sequences whose text holds this"));
  search_->setClearButtonEnabled(true);
  column->addWidget(search_);
  filter_.setSourceModel(&sentences_);
  filter_.setFilterKeyColumn(SentencesModel::kText);
  filter_.setFilterRole(Qt::UserRole);
  filter_.setFilterCaseSensitivity(Qt::CaseInsensitive);
  filter_.setSortRole(Qt::UserRole);
  list_ = makeTable(filter_, QStringLiteral("sequences"));
  list_->setSortingEnabled(true);
  list_->sortByColumn(SentencesModel::kNumber, Qt::AscendingOrder);
  list_->horizontalHeader()->setStretchLastSection(true);
  const int digit = list_->fontMetrics().averageCharWidth();
  list_->setColumnWidth(SentencesModel::kNumber, 7 * digit);
  list_->setColumnWidth(SentencesModel::kTokens, 9 * digit);
  column->addWidget(list_, 1);
  return widget;
}

QWidget* TextView::makeText() {
  auto* const area = new QScrollArea;
  area->setWidgetResizable(true);
  area->setFrameShape(QFrame::NoFrame);
  area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  area->setWidget(text_);
  area->setMinimumHeight(60);
  return area;
}

QWidget* TextView::makeLower() {
  auto* const widget = new QWidget;
  auto* const column = new QVBoxLayout(widget);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  auto* const bar = new QHBoxLayout;
  bar->setContentsMargins(8, 2, 12, 0);
  lower_kind_ = new QTabBar;
  lower_kind_->setDrawBase(false);
  lower_kind_->addTab(QStringLiteral("All layers"));
  lower_kind_->addTab(QStringLiteral("Attention"));
  lower_kind_->setTabToolTip(0, QStringLiteral("The tokens in every layer"));
  lower_kind_->setTabToolTip(1,
                             QStringLiteral("What the tokens attend to in the layer, and which "
                                            "buffered layers that comes from (docs/attention.md)"));
  lower_kind_->setAccessibleName(QStringLiteral("layers or attention"));
  bar->addWidget(lower_kind_);
  bar->addStretch();
  heads_bar_ = new QWidget;
  auto* const heads = new QHBoxLayout(heads_bar_);
  heads->setContentsMargins(0, 0, 0, 0);
  heads_ = addChoiceBox(*heads, QStringLiteral("&Head"), QStringLiteral("Of the attention"));
  bar->addWidget(heads_bar_);
  column->addLayout(bar);
  QSplitter* const panes = makeSplitter(Qt::Horizontal, {pattern_, routed_}, {400, 440});
  attention_panes_ = panes;
  column->addWidget(map_, 1);
  column->addWidget(panes, 1);
  panes->hide();
  pattern_->plot().setKeepsAspect(true);
  return widget;
}

void TextView::addActions() {
  const auto add = [this](const QString& text, const QKeySequence& keys, const QString& tip,
                          const std::function<void()>& run) {
    connect(addViewAction(text, keys, tip), &QAction::triggered, this, run);
  };
  add(QStringLiteral("Previous layer"), QKeySequence(Qt::ALT | Qt::Key_Left),
      QStringLiteral("Colour the text by the layer before"), [this] { walkLayers(-1); });
  add(QStringLiteral("Next layer"), QKeySequence(Qt::ALT | Qt::Key_Right),
      QStringLiteral("Colour the text by the layer behind"), [this] { walkLayers(1); });
  add(QStringLiteral("Previous sequence"), QKeySequence(Qt::ALT | Qt::Key_Up),
      QStringLiteral("Show the sequence before"), [this] { chooseSequence(sequence_ - 1); });
  add(QStringLiteral("Next sequence"), QKeySequence(Qt::ALT | Qt::Key_Down),
      QStringLiteral("Show the sequence behind"), [this] { chooseSequence(sequence_ + 1); });
  add(QStringLiteral("Find a sequence"), QKeySequence::Find,
      QStringLiteral("List only sequences that hold a text"),
      [this] { search_->setFocus(Qt::ShortcutFocusReason); });
  add(QStringLiteral("Measure again"), QKeySequence(Qt::CTRL | Qt::Key_R),
      QStringLiteral("Measure anew what was stopped or could not be measured"),
      [this] { measurements_.forget(); });
}

const Document* TextView::capture() const {
  const Document* const document = workspace().find(capture_->currentData().toInt());
  return document != nullptr && document->capture ? document : nullptr;
}

std::string TextView::site() const { return site_->currentData().toString().toStdString(); }

std::string TextView::measure() const { return measure_->currentData().toString().toStdString(); }

bool TextView::showsAttention() const { return lower_kind_->currentIndex() == 1; }

std::vector<int> TextView::layers() const {
  const Document* const document = capture();
  if (document == nullptr) return {};
  const std::vector<std::string>& sites = document->capture->sites();
  const bool has_site = std::find(sites.begin(), sites.end(), site()) != sites.end();
  return has_site ? document->capture->layers(site()) : std::vector<int>();
}

std::optional<int> TextView::layer() const {
  const std::vector<int> all = layers();
  if (all.empty()) return std::nullopt;
  const int wanted = workspace().selection().layer.value_or(all.back());
  return *std::min_element(all.begin(), all.end(), [&](int a, int b) {
    return std::abs(a - wanted) < std::abs(b - wanted);
  });
}

void TextView::documentsChanged() {
  listCaptures();
  look();
  draw();
}

void TextView::listCaptures() {
  const QVariant wanted = capture_->currentData();
  capture_->clear();
  for (const Document* const document : workspace().documentsOf(DocumentKind::kCapture)) {
    if (holdsText(*document->capture)) capture_->addItem(document->label, document->id);
  }
  chooseData(*capture_, wanted);
  listSites();
}

void TextView::listSites() {
  const QVariant wanted = site_->currentData();
  site_->clear();
  const Document* const document = capture();
  sentences_.setCapture(document == nullptr ? nullptr : document->capture);
  if (document != nullptr) rows_.of(*document);  // ready when tokens are chosen
  if (document != nullptr) {
    for (const std::string& name : document->capture->sites()) {
      if (name != kPatternSite) site_->addItem(shownText(name), toQString(name));
    }
    const auto count = static_cast<int>(document->capture->num_sequences());
    sequence_ = std::clamp(sequence_, 0, std::max(0, count - 1));
  }
  chooseData(*site_, QStringLiteral("hidden"));
  chooseData(*site_, wanted);
  listLayers();
}

void TextView::listLayers() {
  const QSignalBlocker quiet(layer_slider_);
  const std::vector<int> all = layers();
  layer_slider_->setRange(0, std::max(0, static_cast<int>(all.size()) - 1));
  layer_slider_->setEnabled(all.size() > 1);
  const std::optional<int> now = layer();
  if (now) {
    layer_slider_->setValue(
        static_cast<int>(std::find(all.begin(), all.end(), *now) - all.begin()));
  }
  layer_label_->setText(now ? QStringLiteral("Layer %1").arg(*now + preferences().layer_base)
                            : QStringLiteral("Layer"));
}

void TextView::look() {
  // Nothing is computed for a view that nobody looks at.
  if (!isVisible()) return;
  measurements_.setThreads(preferences().threads);
  const Document* const document = capture();
  if (document == nullptr || site_->count() == 0) {
    measurements_.look(std::nullopt);
  } else {
    measurements_.look(TextMeasurements::Place{document->id, site(), sequence_});
  }
  lookAtAttention();
}

void TextView::lookAtAttention() {
  const Document* const document = capture();
  const std::optional<int> now = layer();
  if (!showsAttention() || document == nullptr || !now) {
    measurements_.lookAtAttention(std::nullopt);
    return;
  }
  measurements_.lookAtAttention(TextMeasurements::AttentionPlace{document->id, sequence_, *now});
}

std::optional<Figure> TextView::figure() const {
  for (FigurePane* const pane : {active_, map_, pattern_}) {
    const Figure* const shown = pane->plot().figure();
    if (shown != nullptr && pane->isVisibleTo(this)) return *shown;
  }
  return std::nullopt;
}

QStringList TextView::commandLines() const {
  if (measurements_.documents().empty()) return {};
  if (showsAttention()) {
    const Document* const document = capture();
    const Answer<AttentionExploration>& attention = measurements_.attention();
    if (document == nullptr || !attention.result) return {};
    AttentionCommand command{.capture = document->path,
                             .label = document->label,
                             .layer = attention.result->layer,
                             .head = head_,
                             .sequence = sequence_,
                             .query = std::nullopt,
                             .checkpoint = {},
                             .layer_base = preferences().layer_base};
    if (measurements_.routed().result) command.query = query();
    const Answer<SequenceTokens>& tokens = measurements_.tokens(document->id);
    if (tokens.result) command.checkpoint = tokens.result->checkpoint;
    return attentionCommandLines(command);
  }
  QStringList captures, labels;
  for (const int id : measurements_.documents()) {
    const Document* const document = workspace().find(id);
    if (document == nullptr) continue;
    captures << quotedForShell(toQString(document->path));
    labels << quotedForShell(document->label);
  }
  const Answer<SequenceTokens>& answer = measurements_.tokens(measurements_.documents().front());
  QString line =
      QStringLiteral("lime-metrics tokens %1 --label %2 --site %3 --sequence %4")
          .arg(captures.join(QLatin1Char(' ')), labels.join(QLatin1Char(' ')), site_->currentText())
          .arg(sequence_);
  if (answer.result && !answer.result->checkpoint.empty()) {
    line += QStringLiteral(" --checkpoint ") + quotedForShell(toQString(answer.result->checkpoint));
  }
  return {line + QStringLiteral(" -o tokens.json"),
          QStringLiteral("lime-figure tokens.json --measure %1%2 -o tokens.pdf")
              .arg(measure_->currentData().toString(),
                   preferences().layer_base != 0 ? QStringLiteral(" --layer-base 1") : QString())};
}

Json TextView::state() const {
  return {{"capture", capture_->currentText().toStdString()},
          {"site", site()},
          {"measure", measure()},
          {"sequence", sequence_},
          {"attention", showsAttention()},
          {"head", head_}};
}

void TextView::setState(const Json& state) {
  const int at = capture_->findText(toQString(state.value("capture", std::string())));
  if (at >= 0) capture_->setCurrentIndex(at);
  sequence_ = std::max(0, state.value("sequence", sequence_));
  listSites();
  chooseData(*site_, toQString(state.value("site", std::string())));
  chooseData(*measure_, toQString(state.value("measure", std::string())));
  {
    const QSignalBlocker quiet(lower_kind_);
    lower_kind_->setCurrentIndex(state.value("attention", showsAttention()) ? 1 : 0);
  }
  head_ = std::max(0, state.value("head", head_));
  listLayers();
  look();
  draw();
}

std::vector<Habit> TextView::habits() const {
  return {{QStringLiteral("walk the tokens"), QStringLiteral("Left, Right in the text")},
          {QStringLiteral("follow a token's attention"), QStringLiteral("click it")}};
}

void TextView::zoom(double factor) { active_->plot().zoom(factor); }

void TextView::showAll() {
  for (FigurePane* const pane : {map_, pattern_, routed_}) pane->plot().showAll();
}

void TextView::showEvent(QShowEvent* event) {
  View::showEvent(event);
  look();
  draw();
}

void TextView::changeEvent(QEvent* event) {
  View::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) draw();
}

ViewKind textViewKind() {
  return {.id = QStringLiteral("text"),
          .title = QStringLiteral("Text"),
          .question = QStringLiteral("What is each token of a sentence like, layer by layer, and "
                                     "what does it attend to?"),
          .shows =
              [](const Document& document) {
                return document.capture != nullptr && holdsText(*document.capture);
              },
          .make = [](const ViewContext& context, QWidget* parent) -> View* {
            return new TextView(context, parent);
          }};
}

}  // namespace lime::explorer
