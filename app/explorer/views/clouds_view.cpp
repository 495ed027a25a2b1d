// SPDX-License-Identifier: Apache-2.0
#include "explorer/views/clouds_view.h"

#include <QComboBox>
#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QPropertyAnimation>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSlider>
#include <QSplitter>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <optional>

#include "explorer/models/text.h"
#include "explorer/models/workspace.h"
#include "explorer/views/choice_box.h"
#include "explorer/views/cloud_canvas.h"
#include "explorer/views/pane_layout.h"
#include "explorer/views/theme.h"
#include "store/capture_reader.h"
#include "viz/figure_source.h"

namespace lime::explorer {
namespace {

const QString kNothing = QStringLiteral(
    "No clouds yet.\n\nOpen results of lime-metrics tsne (NAME.json beside NAME.embeddings.h5), or "
    "open captures and press Compute.");

/// What all layers of all models take up, so that nothing jumps between layers.
QRectF extentOf(const CloudSet& set, const std::string& site) {
  QRectF extent;
  for (const CloudModel& model : set.models) {
    for (const LayerEmbedding& layer : model.points.layers) {
      if (layer.site != site || layer.coordinates.rows() == 0) continue;
      const auto low = layer.coordinates.colwise().minCoeff().eval();
      const auto high = layer.coordinates.colwise().maxCoeff().eval();
      const QRectF own(QPointF(static_cast<double>(low(0)), static_cast<double>(low(1))),
                       QPointF(static_cast<double>(high(0)), static_cast<double>(high(1))));
      extent = extent.isNull() ? own : extent.united(own);
    }
  }
  return extent.isNull() ? QRectF(-1.0, -1.0, 2.0, 2.0) : extent;
}

}  // namespace

CloudsView::CloudsView(const ViewContext& context, QWidget* parent)
    : View(QStringLiteral("Clouds"), context, parent) {
  QVBoxLayout* const column = fillWithColumn(*this);
  column->addWidget(makeBar());
  problems_ = makeNote(QStringLiteral("what could not be read"));
  legend_ = makeNote(QStringLiteral("colours"));
  legend_->setTextFormat(Qt::RichText);
  column->addWidget(problems_);
  column->addWidget(legend_);
  auto* const split = new QSplitter(Qt::Vertical);
  split->setChildrenCollapsible(false);
  clouds_ = new QWidget;
  clouds_row_ = new QHBoxLayout(clouds_);
  clouds_row_->setContentsMargins(0, 0, 0, 0);
  clouds_row_->setSpacing(1);
  message_ = new QLabel(kNothing);
  message_->setAlignment(Qt::AlignCenter);
  message_->setForegroundRole(QPalette::PlaceholderText);
  clouds_row_->addWidget(message_);
  split->addWidget(clouds_);
  split->addWidget(makeList());
  split->setStretchFactor(0, 3);
  split->setStretchFactor(1, 1);
  split->setSizes({3000, 1000});  // in proportion: the table would ask for half
  column->addWidget(split, 1);

  animation_ = new QPropertyAnimation(slider_, "value", this);
  animation_->setEasingCurve(QEasingCurve::InOutCubic);
  for (const auto signal :
       {&Workspace::documentAdded, &Workspace::documentRemoved, &Workspace::documentChanged}) {
    connect(&workspace(), signal, this, [this] { listSources(); });
  }
  connect(&workspace(), &Workspace::selectionChanged, this, [this](const Selection& selection) {
    const bool is_new = selection.layer != heard_layer_;
    heard_layer_ = selection.layer;
    if (is_new && selection.layer && *selection.layer != currentLayer()) {
      goToLayer(*selection.layer);
    }
    showSelection();
    rememberState();
  });
  connect(&jobs(), &JobRunner::jobRemoved, this, [this](JobId id) {
    if (id != job_) return;
    // Its result would have cleared the number: it was cancelled.
    job_ = 0;
    message_->setText(kNothing);
    compute_->setEnabled(true);
  });
  addActions();
  listSources();
}

CloudsView::~CloudsView() = default;

QWidget* CloudsView::makeBar() {
  auto* const widget = new QWidget;
  auto* const bar = new QHBoxLayout(widget);
  bar->setContentsMargins(12, 8, 12, 8);
  source_ =
      addChoiceBox(*bar, QStringLiteral("&Clouds"), QStringLiteral("Results of lime-metrics tsne"));
  compute_ = new QPushButton(QStringLiteral("Co&mpute"));
  compute_->setToolTip(QStringLiteral(
      "t-SNE (van der Maaten & Hinton 2008) of 2000 rows of each open capture, layer by layer"));
  bar->addWidget(compute_);
  site_ = addChoiceBox(*bar, QStringLiteral("S&ite"), QStringLiteral("Which activations"));
  colour_ = addChoiceBox(*bar, QStringLiteral("Co&lour"), QStringLiteral("What the colours say"));
  colour_->addItem(QStringLiteral("class"), static_cast<int>(CloudColour::kClass));
  colour_->addItem(QStringLiteral("token"), static_cast<int>(CloudColour::kToken));
  colour_->addItem(QStringLiteral("position"), static_cast<int>(CloudColour::kPosition));
  colour_->addItem(QStringLiteral("sequence"), static_cast<int>(CloudColour::kSequence));
  layer_label_ = new QLabel;
  slider_ = new QSlider(Qt::Horizontal);
  slider_->setAccessibleName(QStringLiteral("layer"));
  slider_->setToolTip(QStringLiteral("Layer: between two layers the points are on their way"));
  slider_->setSingleStep(kStepsPerLayer);
  slider_->setPageStep(kStepsPerLayer);
  bar->addWidget(layer_label_);
  bar->addWidget(slider_, 1);
  connect(source_, &QComboBox::activated, this, [this] {
    recordChange(QStringLiteral("Choose clouds"));
    loadSource();
  });
  connect(compute_, &QPushButton::clicked, this, &CloudsView::compute);
  connect(site_, &QComboBox::activated, this, [this] {
    recordChange(QStringLiteral("Choose a site"));
    makeCanvases();
  });
  connect(colour_, &QComboBox::activated, this, [this] {
    recordChange(QStringLiteral("Choose colours"));
    colourPoints();
  });
  connect(slider_, &QSlider::valueChanged, this, &CloudsView::sliderMoved);
  connect(slider_, &QSlider::sliderReleased, this, [this] { selectLayer(currentLayer()); });
  return widget;
}

std::string CloudsView::site() const { return site_->currentData().toString().toStdString(); }

CloudColour CloudsView::colour() const {
  return static_cast<CloudColour>(colour_->currentData().toInt());
}

int CloudsView::currentLayer() const {
  if (layers_.empty()) return 0;
  const auto at =
      static_cast<std::size_t>((slider_->value() + kStepsPerLayer / 2) / kStepsPerLayer);
  return layers_[std::min(at, layers_.size() - 1)];
}

CloudSurroundings CloudsView::surroundings() const {
  CloudSurroundings around;
  for (const Document& document : workspace().documents()) {
    if (document.capture) around.captures[document.path] = document.capture;
    if (document.checkpoint) around.checkpoints.push_back(document.path);
  }
  around.locator = workspace().locator();
  return around;
}

void CloudsView::listSources() {
  const QSignalBlocker quiet(source_);
  const QVariant wanted = source_->currentData();
  source_->clear();
  for (const Document* const document : workspace().documentsOf(DocumentKind::kResults)) {
    if (document->results->results.metric != "tsne") continue;
    source_->addItem(document->label, document->id);
  }
  if (loaded_ == kComputed) source_->addItem(QStringLiteral("computed here"), kComputed);
  chooseData(*source_, wanted);
  compute_->setEnabled(job_ == 0 && !workspace().documentsOf(DocumentKind::kCapture).empty());
  if (loaded_ == kComputed && isOutdated() && isVisible()) {
    compute();
  } else if (source_->currentData() != QVariant(loaded_) || isOutdated()) {
    loadSource();
  }
  rememberState();
}

void CloudsView::loadSource() {
  const int id = source_->currentData().toInt();
  const Document* const document = workspace().find(id);
  if (id == kComputed || !isVisible()) return;
  if (document == nullptr) {
    if (loaded_ == 0) return;
    loaded_ = 0;
    take({});
    return;
  }
  loaded_ = id;
  loaded_results_ = document->results;
  loaded_with_ = surroundings();
  message_->setText(QStringLiteral("Reading ..."));
  job_ = jobs().start<CloudSet>(
      this, {.title = QStringLiteral("Clouds of %1").arg(document->label), .key = "clouds/load"},
      [results = document->results, around = loaded_with_](const JobContext&) {
        return loadClouds(*results, around);
      },
      [this](CloudSet set) { take(std::move(set)); }, [this](const QString& e) { fail(e); });
}

void CloudsView::compute() {
  CloudRequest request;
  QStringList names;
  for (const Document* const document : workspace().documentsOf(DocumentKind::kCapture)) {
    request.captures.push_back(document->path);
    QString label = document->label;
    while (names.contains(label)) label += QLatin1Char('\'');
    names << label;
    request.labels.push_back(label.toStdString());
    const std::vector<std::string>& sites = document->capture->sites();
    const bool has_hidden = std::find(sites.begin(), sites.end(), "hidden") != sites.end();
    if (request.site.empty() && !sites.empty())
      request.site = has_hidden ? "hidden" : sites.front();
  }
  if (request.captures.empty()) return;
  request.threads = preferences().threads;
  loaded_with_ = surroundings();
  compute_->setEnabled(false);
  message_->setText(QStringLiteral("Computing t-SNE ..."));
  job_ = jobs().start<CloudSet>(
      this,
      {.title = QStringLiteral("t-SNE of %1").arg(names.join(QStringLiteral(", "))),
       .key = QStringLiteral("clouds/compute"),
       .lane = JobLane::kLong},
      [request, around = loaded_with_](const JobContext& context) {
        return computeClouds(request, around, context.on_progress, context.stop);
      },
      [this](CloudSet set) {
        loaded_ = kComputed;
        take(std::move(set));
        listSources();
        chooseData(*source_, kComputed);
      },
      [this](const QString& e) { fail(e); });
}

void CloudsView::fail(const QString& error) {
  job_ = 0;
  compute_->setEnabled(true);
  set_ = {};
  message_->setText(error);
  listSites();
}

void CloudsView::take(CloudSet set) {
  job_ = 0;
  compute_->setEnabled(!workspace().documentsOf(DocumentKind::kCapture).empty());
  set_ = std::move(set);
  message_->setText(kNothing);
  problems_->setText(set_.problems.join(QLatin1Char('\n')));
  problems_->setVisible(!set_.problems.isEmpty());
  listSites();
}

void CloudsView::listSites() {
  {
    const QSignalBlocker quiet(site_);
    const QVariant wanted = site_->currentData();
    site_->clear();
    for (const std::string& site : set_.sites()) site_->addItem(shownText(site), toQString(site));
    chooseData(*site_, wanted);
  }
  makeCanvases();
}

void CloudsView::makeCanvases() {
  animation_->stop();
  qDeleteAll(canvases_);
  canvases_.clear();
  layers_ = set_.layers(site());
  message_->setVisible(layers_.empty());
  for (std::size_t m = 0; m < set_.models.size() && !layers_.empty(); ++m) {
    auto* const canvas = new CloudCanvas;
    connect(canvas, &CloudCanvas::hovered, this, [this, m](int point) { describe(m, point); });
    connect(canvas, &CloudCanvas::windowChanged, this,
            [this, m](const QString& what, const CloudWindow& before) {
              recordWindow(m, what, before);
            });
    canvas->addActions(point_actions_);
    connect(canvas, &CloudCanvas::lassoed, this,
            [this, m](const std::vector<int>& points, Qt::KeyboardModifiers modifiers) {
              choose(m, points, modifiers);
            });
    connect(canvas, &CloudCanvas::clicked, this, [this, m](int point, Qt::KeyboardModifiers) {
      if (point < 0) {
        choose(m, {}, {});
      } else {
        chooseNeighbours(m, point);
      }
    });
    clouds_row_->addWidget(canvas, 1);
    canvases_.push_back(canvas);
  }
  setFirstFocus(canvases_.empty() ? static_cast<QWidget*>(compute_) : canvases_.front());
  {
    const QSignalBlocker quiet(slider_);
    slider_->setRange(0, kStepsPerLayer * std::max(0, static_cast<int>(layers_.size()) - 1));
  }
  placeSlider();
  const QRectF extent = extentOf(set_, site());
  for (std::size_t m = 0; m < canvases_.size(); ++m) {
    const auto count = static_cast<std::size_t>(set_.models[m].size());
    canvases_[m]->setPoints(std::vector<float>(count, 0.0F), std::vector<float>(count, 0.0F),
                            extent);
  }
  colourPoints();
  layerMoved();
  showSelection();
  findNeighbours();
  rememberState();
}

void CloudsView::placePoints() {
  if (layers_.empty()) return;
  const auto before = static_cast<std::size_t>(slider_->value() / kStepsPerLayer);
  const std::size_t after = std::min(before + 1, layers_.size() - 1);
  const float share = static_cast<float>(slider_->value() % kStepsPerLayer) / kStepsPerLayer;
  for (std::size_t m = 0; m < canvases_.size(); ++m) {
    const MatrixF* const from = set_.models[m].coordinates(site(), layers_[before]);
    const MatrixF* const to = set_.models[m].coordinates(site(), layers_[after]);
    const auto count = static_cast<std::size_t>(set_.models[m].size());
    std::vector<float> x(count);
    std::vector<float> y(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto row = static_cast<Eigen::Index>(i);
      const auto between = [&](Eigen::Index axis) {
        const float a = from != nullptr ? (*from)(row, axis) : 0.0F;
        const float b = to != nullptr ? (*to)(row, axis) : a;
        return a + share * (b - a);
      };
      x[i] = between(0);
      y[i] = between(1);
    }
    canvases_[m]->movePoints(std::move(x), std::move(y));
    canvases_[m]->setTitle(QStringLiteral("%1, layer %2")
                               .arg(set_.models[m].label)
                               .arg(currentLayer() + preferences().layer_base));
  }
}

void CloudsView::colourPoints() {
  groups_ = groupsOf(set_, colour());
  const bool dark = isDark(palette());
  std::vector<std::optional<QRgb>> colour_of(groups_.names.size());
  for (std::size_t m = 0; m < canvases_.size(); ++m) {
    const std::vector<QRgb> colours = coloursOf(groups_, m, dark);
    canvases_[m]->setColours(colours);
    for (std::size_t i = 0; i < colours.size() && !colour_of.empty(); ++i) {
      colour_of[static_cast<std::size_t>(groups_.group[m][i])] = colours[i];
    }
  }
  QStringList entries;
  for (std::size_t group = 0; group < colour_of.size(); ++group) {
    if (!colour_of[group]) continue;
    entries << QStringLiteral("<span style='color:%1'>&#9679;</span>&nbsp;%2")
                   .arg(QColor(*colour_of[group]).name(),
                        toQString(groups_.names[group]).toHtmlEscaped());
  }
  if (groups_.names.empty() && !canvases_.empty()) {
    entries << QStringLiteral("dark to light: from the first %1 to the last")
                   .arg(colour_->currentText());
  }
  legend_->setText(entries.join(QStringLiteral("&nbsp;&nbsp; ")));
  legend_->setVisible(!entries.isEmpty());
  Q_EMIT figureChanged();
}

std::optional<Figure> CloudsView::figure() const {
  if (layers_.empty()) return std::nullopt;
  Figure figure = cloudsFigure(set_, groups_, site(), currentLayer(), preferences().layer_base);
  return figure.panels.empty() ? std::nullopt : std::optional(std::move(figure));
}

void CloudsView::zoom(double factor) {
  for (CloudCanvas* const canvas : canvases_) canvas->zoom(factor);
}

void CloudsView::showAll() {
  for (CloudCanvas* const canvas : canvases_) canvas->showAll();
}

void CloudsView::showEvent(QShowEvent* event) {
  View::showEvent(event);
  listSources();
}

void CloudsView::changeEvent(QEvent* event) {
  View::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) colourPoints();
}

ViewKind cloudsViewKind() {
  return {.id = QStringLiteral("clouds"),
          .title = QStringLiteral("Clouds"),
          .question = QStringLiteral("Which tokens lie together, and how does that change?"),
          .shows =
              [](const Document& document) {
                return document.capture != nullptr ||
                       (document.results && document.results->results.metric == "tsne");
              },
          .make = [](const ViewContext& context, QWidget* parent) -> View* {
            return new CloudsView(context, parent);
          }};
}

}  // namespace lime::explorer
