// SPDX-License-Identifier: Apache-2.0
#include "explorer/views/collapse_view.h"

#include <QAction>
#include <QComboBox>
#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QSplitter>
#include <QVBoxLayout>
#include <algorithm>
#include <array>
#include <set>

#include "explorer/models/text.h"
#include "explorer/models/workspace.h"
#include "explorer/views/choice_box.h"
#include "explorer/views/figure_view.h"
#include "explorer/views/pane_layout.h"
#include "explorer/views/theme.h"
#include "store/capture_reader.h"

namespace lime::explorer {
namespace {

const QString kNoCaptureOpen = QStringLiteral(
    "No capture is open.\n\nOpen a capture.h5 that lime-capture wrote: of several models of one "
    "text the curves stand side by side.");
constexpr double kMarkHeight = 1e5;  // more than any curve is high

struct Measure {
  const char* name;  ///< of lime-metrics geometry; "entropy" is of lime-metrics entropy
  const char* title;
  const char* help;
};

constexpr std::array kMeasures = {
    Measure{"entropy", "Entropy",
            "Matrix-based Renyi entropy of order 1/2, standardised as the LIMe code does (Sanchez "
            "Giraldo et al. 2015). Low: the tokens lie on few directions"},
    Measure{"effective_rank", "Effective rank",
            "exp of the entropy of the singular values (Roy & Vetterli 2007)"},
    Measure{"participation_ratio", "Participation ratio",
            "(sum of eigenvalues)^2 / sum of their squares (Gao et al. 2017)"},
    Measure{"anisotropy", "Anisotropy", "Mean cosine of two rows (Ethayarajh 2019)"},
    Measure{"sequence_cosine", "Cosine within sequences",
            "Mean cosine of two tokens of a sequence"},
    Measure{"rank_one_residual", "Rank-one residual",
            "What is left of a sequence without its mean token (Dong et al. 2021)"},
    Measure{"curvature", "Curvature", "Mean angle between steps from token to token, degrees"},
};

}  // namespace

CollapseView::CollapseView(const ViewContext& context, QWidget* parent)
    : View(QStringLiteral("Collapse"), context, parent),
      measurements_(context.workspace, context.jobs),
      plot_(new FigureView),
      spectrum_(new FigureView) {
  QVBoxLayout* const column = fillWithColumn(*this);
  column->addWidget(makeBar());
  problems_ = makeNote(QStringLiteral("what could not be measured"));
  column->addWidget(problems_);
  auto* const split = new QSplitter(Qt::Vertical);
  split->setChildrenCollapsible(false);
  plot_->setAccessibleName(QStringLiteral("curves over layers"));
  split->addWidget(plot_);
  split->addWidget(makeDetail());
  split->setStretchFactor(0, 3);
  split->setStretchFactor(1, 2);
  column->addWidget(split, 1);
  setFirstFocus(plot_);

  connect(plot_, &FigureView::hovered, this,
          [this](const FigureHit& hit) { Q_EMIT status(describe(hit)); });
  connect(plot_, &FigureView::unhovered, this, [this] { Q_EMIT status({}); });
  connect(plot_, &FigureView::clicked, this, [this](const FigureHit& hit) {
    selectLayer(static_cast<int>(std::lround(hit.x)) - preferences().layer_base);
  });
  for (const auto signal :
       {&Workspace::documentAdded, &Workspace::documentRemoved, &Workspace::documentChanged}) {
    connect(&workspace(), signal, this, [this] { documentsChanged(); });
  }
  connect(&workspace(), &Workspace::selectionChanged, this, [this] {
    if (workspace().selection().layer != measurements_.layer()) measure();
  });
  connect(&measurements_, &CollapseMeasurements::curvesChanged, this, [this] { drawCurves(); });
  connect(&measurements_, &CollapseMeasurements::layerChanged, this, [this] { layerChanged(); });
  connect(addViewAction(QStringLiteral("Previous layer"), QKeySequence(Qt::ALT | Qt::Key_Left),
                        QStringLiteral("Select the layer before")),
          &QAction::triggered, this, [this] { walkLayers(-1); });
  connect(addViewAction(QStringLiteral("Next layer"), QKeySequence(Qt::ALT | Qt::Key_Right),
                        QStringLiteral("Select the layer behind")),
          &QAction::triggered, this, [this] { walkLayers(1); });
  connect(addViewAction(QStringLiteral("Measure again"), QKeySequence(Qt::CTRL | Qt::Key_R),
                        QStringLiteral("Compute anew what was stopped or could not be measured")),
          &QAction::triggered, this, [this] {
            measurements_.forget();
            measure();
          });
  documentsChanged();
}

QWidget* CollapseView::makeBar() {
  auto* const widget = new QWidget;
  auto* const bar = new QHBoxLayout(widget);
  bar->setContentsMargins(12, 8, 12, 8);
  measure_ =
      addChoiceBox(*bar, QStringLiteral("&Measure"), QStringLiteral("What is drawn over layers"));
  for (const Measure& measure : kMeasures) {
    measure_->addItem(QString::fromUtf8(measure.title), QString::fromUtf8(measure.name));
    measure_->setItemData(measure_->count() - 1, QString::fromUtf8(measure.help), Qt::ToolTipRole);
  }
  site_ = addChoiceBox(*bar, QStringLiteral("S&ite"), QStringLiteral("Which activations"));
  sequences_ = addChoiceBox(*bar, QStringLiteral("Se&quences"),
                            QStringLiteral("More sequences take longer and give narrower bands"));
  sequences_->addItem(QStringLiteral("first 100"), 100);
  sequences_->addItem(QStringLiteral("first 1000"), 1000);
  sequences_->addItem(QStringLiteral("all"), 0);
  bar->addStretch();
  const auto step = [this](QComboBox* box, const QString& what) {
    connect(box, &QComboBox::activated, this, [this, what] {
      recordChange(what);
      measure();
    });
  };
  step(measure_, QStringLiteral("Choose a measure"));
  step(site_, QStringLiteral("Choose a site"));
  step(sequences_, QStringLiteral("Choose how many sequences"));
  return widget;
}

bool CollapseView::showsEntropy() const {
  return measure_->currentData().toString() == QLatin1String("entropy");
}

CollapseMeasurements::Kind CollapseView::kind() const {
  return showsEntropy() ? CollapseMeasurements::Kind::kEntropy
                        : CollapseMeasurements::Kind::kGeometry;
}

void CollapseView::documentsChanged() {
  listSites();
  measure();
  drawCurves();
  layerChanged();
}

void CollapseView::listSites() {
  const QSignalBlocker quiet(site_);
  const QVariant wanted = site_->currentData();
  site_->clear();
  for (const Document* const document : measurements_.captures()) {
    for (const std::string& site : document->capture->sites()) {
      const QString name = toQString(site);
      if (site_->findData(name) < 0) site_->addItem(shownText(site), name);
    }
  }
  chooseData(*site_, wanted);
}

void CollapseView::measure() {
  rememberState();
  // Nothing is computed for a view that nobody looks at.
  if (!isVisible()) return;
  measurements_.setThreads(preferences().threads);
  measurements_.setMaxSequences(sequences_->currentData().toLongLong());
  measurements_.measure(kind());
  measurements_.setLayer(site_->currentData().toString().toStdString(),
                         workspace().selection().layer);
  measurements_.measureLayer();
  drawCurves();
  layerChanged();
}

QString CollapseView::emptyMessage() const {
  if (measurements_.captures().empty()) return kNoCaptureOpen;
  return measurements_.isMeasuring(kind()) ? QStringLiteral("Measuring ...")
                                           : QStringLiteral("Nothing could be measured.");
}

FigureOrMessage CollapseView::curves() const {
  std::vector<FigureSource> sources;
  const std::string site = site_->currentData().toString().toStdString();
  std::map<std::string, int> colours;
  for (const Document* const document : measurements_.captures()) {
    const Answer<Results>& answer = measurements_.curves(document->id, kind());
    const bool has_site =
        answer.result &&
        std::any_of(answer.result->rows.begin(), answer.result->rows.end(),
                    [&](const Json& row) { return row.value("site", "") == site; });
    if (!has_site) continue;
    sources.push_back({document->path, *answer.result});
    colours[measurements_.labelOf(*document).toStdString()] = document->colour;
  }
  FigureOptions options;
  options.site = {site};
  options.layer_base = preferences().layer_base;
  options.mixed_texts = true;
  if (!showsEntropy()) {
    options.measure = {measure_->currentData().toString().toStdString()};
  }
  FigureOrMessage made = figureOrMessage(sources, options);
  if (!made.figure) return made;
  for (FigurePanel& panel : made.figure->panels) {
    for (Curve& curve : std::get<CurvePanel>(panel.content).curves) {
      constexpr int kNamed = 7;  // colours of the palette
      curve.look.colour = static_cast<std::size_t>(colours[curve.label] % kNamed);
    }
  }
  return made;
}

void CollapseView::drawCurves() {
  plot_->setFigureStyle(screenStyle(*this, preferences()));
  FigureOrMessage made = curves();
  drawn_ = std::move(made.figure);
  plot_->setMessage(made.message.isEmpty() ? emptyMessage() : made.message);
  plot_->setFigure(drawn_);
  plot_->linkAllPanels(workspace(), QStringLiteral("layer"), -preferences().layer_base);
  markLayer();
  listProblems();
  Q_EMIT figureChanged();
}

void CollapseView::markLayer() {
  std::vector<FigureMark> marks;
  const std::optional<int> layer = workspace().selection().layer;
  for (std::size_t p = 0; layer && drawn_ && p < drawn_->panels.size(); ++p) {
    const double x = *layer + preferences().layer_base;
    marks.push_back({.panel = p,
                     .area = QRectF(x - 0.12, -kMarkHeight, 0.24, 2.0 * kMarkHeight),
                     .is_strong = false});
  }
  plot_->setMarks(std::move(marks));
}

void CollapseView::listProblems() {
  QStringList lines;
  const Document* first = nullptr;
  for (const Document* const document : measurements_.captures()) {
    const QString& problem = measurements_.curves(document->id, kind()).problem;
    if (!problem.isEmpty()) {
      // The label says which file it is.
      const QString path = QStringLiteral("'%1': ").arg(toQString(document->path));
      lines << QStringLiteral("%1: %2").arg(
          measurements_.labelOf(*document),
          problem.startsWith(path) ? problem.mid(path.size()) : problem);
      continue;
    }
    const std::string& text = document->capture->info().input_sha256;
    if (!text.empty() && first == nullptr) first = document;
    if (!text.empty() && text != first->capture->info().input_sha256) {
      lines << QStringLiteral(
                   "%1 and %2 were captured of different texts: their curves do not "
                   "compare")
                   .arg(measurements_.labelOf(*first), measurements_.labelOf(*document));
    }
  }
  problems_->setText(lines.join(QLatin1Char('\n')));
  problems_->setVisible(!lines.isEmpty());
}

void CollapseView::walkLayers(int step) {
  const std::string site = site_->currentData().toString().toStdString();
  std::set<int> layers;
  for (const Document* const document : measurements_.captures()) {
    const std::vector<std::string>& sites = document->capture->sites();
    if (std::find(sites.begin(), sites.end(), site) == sites.end()) continue;
    for (const int layer : document->capture->layers(site)) layers.insert(layer);
  }
  if (layers.empty()) return;
  const int end = step > 0 ? *layers.begin() : *layers.rbegin();
  const std::optional<int> layer = workspace().selection().layer;
  selectLayer(layer ? std::clamp(*layer + step, *layers.begin(), *layers.rbegin()) : end);
}

void CollapseView::selectLayer(int layer) {
  changeState(QStringLiteral("Select a layer"), [&] {
    Selection selection = workspace().selection();
    selection.layer = layer;
    workspace().setSelection(selection);
  });
}

QString CollapseView::describe(const FigureHit& hit) const {
  if (!drawn_ || !hit.point) return {};
  const auto& panel = std::get<CurvePanel>(drawn_->panels[hit.panel].content);
  const Curve& curve = panel.curves[hit.point->series];
  const std::size_t at = hit.point->index;
  QString text = QStringLiteral("%1, layer %2: %3 %4")
                     .arg(toQString(curve.label))
                     .arg(curve.x[at])
                     .arg(measure_->currentText().toLower())
                     .arg(curve.y[at], 0, 'g', 5);
  if (at < curve.low.size()) {
    text +=
        QStringLiteral(" [%1, %2]").arg(curve.low[at], 0, 'g', 5).arg(curve.high[at], 0, 'g', 5);
  }
  return text + QStringLiteral("; click for its spectrum");
}

std::optional<Figure> CollapseView::figure() const {
  if (!drawn_) return std::nullopt;
  Figure figure = *drawn_;
  if (const std::optional<FigurePanel> panel = spectrumPanel()) {
    figure.panels.push_back(*panel);
    figure.panels.back().title = QStringLiteral("layer %1")
                                     .arg(*measurements_.layer() + preferences().layer_base)
                                     .toStdString();
    figure.columns = static_cast<int>(figure.panels.size());
    figure.is_wide = true;
  }
  return figure;
}

QStringList CollapseView::commandLines() const {
  if (measurements_.captures().empty()) return {};
  const QString metric = showsEntropy() ? QStringLiteral("entropy") : QStringLiteral("geometry");
  QString measure = QStringLiteral("lime-metrics ") + metric;
  QStringList labels;
  for (const Document* const document : measurements_.captures()) {
    measure += QLatin1Char(' ') + quotedForShell(toQString(document->path));
    labels << quotedForShell(measurements_.labelOf(*document));
  }
  measure += QStringLiteral(" --label ") + labels.join(QLatin1Char(' '));
  measure += QStringLiteral(" --site ") + site_->currentData().toString();
  if (measurements_.maxSequences() > 0)
    measure += QStringLiteral(" --max-sequences %1").arg(measurements_.maxSequences());
  QString draw = QStringLiteral("lime-figure %1.json").arg(metric);
  if (!showsEntropy()) {
    draw += QStringLiteral(" --measure ") + measure_->currentData().toString();
  }
  if (preferences().layer_base != 0) draw += QStringLiteral(" --layer-base 1");
  return {measure + QStringLiteral(" -o %1.json").arg(metric),
          draw + QStringLiteral(" -o %1.pdf").arg(metric)};
}

Json CollapseView::state() const {
  const std::optional<int> layer = workspace().selection().layer;
  Json extreme;
  if (const Document* const of = extreme_ ? workspace().find(extreme_->document) : nullptr) {
    extreme = {{"capture", of->path.string()},
               {"lowest", extreme_->is_lowest},
               {"sequence", extreme_->sequence}};
  }
  return {{"site", site_->currentData().toString().toStdString()},
          {"measure", measure_->currentData().toString().toStdString()},
          {"sequences", sequences_->currentData().toInt()},
          {"layer", layer ? Json(*layer) : Json(nullptr)},
          {"extreme", extreme}};
}

void CollapseView::setState(const Json& state) {
  chooseData(*site_, toQString(state.value("site", std::string())));
  chooseData(*measure_, toQString(state.value("measure", std::string())));
  chooseData(*sequences_, state.value("sequences", sequences_->currentData().toInt()));
  if (state.contains("layer")) {
    Selection selection = workspace().selection();
    selection.layer =
        state["layer"].is_null() ? std::nullopt : std::optional(state["layer"].get<int>());
    workspace().setSelection(selection);
  }
  if (state.contains("extreme")) {
    const Json& extreme = state["extreme"];
    extreme_.reset();
    for (const Document* const document : workspace().documentsOf(DocumentKind::kCapture)) {
      if (extreme.is_null() || document->path.string() != extreme.at("capture")) continue;
      extreme_ = Extreme{document->id, extreme.at("lowest").get<bool>(),
                         extreme.at("sequence").get<std::int64_t>()};
    }
    showExtreme();
    drawSpectrum();
  }
  measure();
}

void CollapseView::zoom(double factor) { plot_->zoom(factor); }
void CollapseView::showAll() {
  plot_->showAll();
  spectrum_->showAll();
}

void CollapseView::showEvent(QShowEvent* event) {
  View::showEvent(event);
  measure();
}

void CollapseView::changeEvent(QEvent* event) {
  View::changeEvent(event);
  if (event->type() != QEvent::PaletteChange) return;
  drawCurves();
  drawSpectrum();
}

ViewKind collapseViewKind() {
  return {.id = QStringLiteral("collapse"),
          .title = QStringLiteral("Collapse"),
          .question = QStringLiteral("Where do the representations lose directions, and on what?"),
          .shows = [](const Document& document) { return document.capture != nullptr; },
          .make = [](const ViewContext& context, QWidget* parent) -> View* {
            return new CollapseView(context, parent);
          }};
}

}  // namespace lime::explorer
