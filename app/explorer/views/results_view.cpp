// SPDX-License-Identifier: Apache-2.0
#include "explorer/views/results_view.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QVBoxLayout>

#include "core/errors.h"
#include "explorer/models/text.h"
#include "explorer/models/workspace.h"
#include "explorer/views/choice_box.h"
#include "explorer/views/figure_view.h"
#include "explorer/views/pane_layout.h"
#include "explorer/views/theme.h"

namespace lime::explorer {
namespace {

const QString kNoResultsOpen = QStringLiteral(
    "No results are open.\n\nOpen a JSON file that lime-metrics wrote, or the folder of a "
    "training.");

void choose(QComboBox& box, const QString& text) {
  const int at = box.findText(text);
  if (at >= 0) box.setCurrentIndex(at);
}

}  // namespace

ResultsView::ResultsView(const ViewContext& context, QWidget* parent)
    : View(QStringLiteral("Results"), context, parent), plot_(new FigureView) {
  auto* const bar = new QHBoxLayout;
  bar->setContentsMargins(12, 8, 12, 8);
  bar->setSpacing(8);
  metric_ = addChoiceBox(*bar, QStringLiteral("&Metric"), QStringLiteral("What was measured"));
  bar->addSpacing(8);
  kind_ = addChoiceBox(*bar, QStringLiteral("&Figure"), QStringLiteral("What is drawn of it"));
  bar->addStretch();
  QVBoxLayout* const column = fillWithColumn(*this);
  column->addLayout(bar);
  column->addWidget(plot_, 1);
  plot_->setAccessibleName(QStringLiteral("figure of results"));
  plot_->setMessage(kNoResultsOpen);
  setFirstFocus(plot_);
  connect(metric_, &QComboBox::activated, this, [this] {
    listFigures();
    recordChange(QStringLiteral("Choose a metric"));
    draw();
  });
  connect(kind_, &QComboBox::activated, this, [this] {
    recordChange(QStringLiteral("Choose a figure"));
    draw();
  });
  connect(plot_, &FigureView::hovered, this, &ResultsView::describe);
  connect(plot_, &FigureView::unhovered, this, [this] { Q_EMIT status({}); });
  for (const auto signal : {&Workspace::documentAdded, &Workspace::documentRemoved,
                            &Workspace::documentChanged, &Workspace::currentChanged}) {
    connect(&workspace(), signal, this, [this] { listMetrics(); });
  }
  listMetrics();
}

std::vector<const Document*> ResultsView::chosen() const {
  std::vector<const Document*> documents = workspace().documentsOf(DocumentKind::kResults);
  std::erase_if(documents, [this](const Document* document) {
    return toQString(document->results->results.metric) != metric_->currentText();
  });
  return documents;
}

void ResultsView::listMetrics() {
  const QSignalBlocker quiet(metric_);
  QString wanted = metric_->currentText();
  const Document* const current = workspace().find(workspace().current());
  if (current != nullptr && current->results) wanted = toQString(current->results->results.metric);
  metric_->clear();
  for (const Document* const document : workspace().documentsOf(DocumentKind::kResults)) {
    const QString metric = toQString(document->results->results.metric);
    if (metric_->findText(metric) < 0) metric_->addItem(metric);
  }
  choose(*metric_, wanted);
  listFigures();
  draw();
}

void ResultsView::listFigures() {
  const QSignalBlocker quiet(kind_);
  const QString wanted = kind_->currentText();
  kind_->clear();
  for (const Recipe* const recipe : recipes_of(metric_->currentText().toStdString())) {
    kind_->addItem(toQString(recipe->name));
    kind_->setItemData(kind_->count() - 1, toQString(recipe->help), Qt::ToolTipRole);
  }
  choose(*kind_, wanted);
}

std::optional<Figure> ResultsView::figure() const {
  const Figure* const shown = plot_->figure();
  return shown == nullptr ? std::nullopt : std::optional(*shown);
}

void ResultsView::draw() {
  rememberState();
  const std::vector<const Document*> documents = chosen();
  plot_->setFigureStyle(screenStyle(*this, preferences()));
  if (documents.empty() || kind_->count() == 0) {
    plot_->setMessage(
        documents.empty()
            ? kNoResultsOpen
            : QStringLiteral("There is no figure of these results; open them with pandas."));
    plot_->setFigure(std::nullopt);
    Q_EMIT figureChanged();
    return;
  }
  std::vector<FigureSource> sources;
  for (const Document* const document : documents) sources.push_back(*document->results);
  FigureOptions options;
  options.kind = kind_->currentText().toStdString();
  options.layer_base = preferences().layer_base;
  try {
    plot_->setFigure(make_figure(sources, options));
  } catch (const Error& error) {
    plot_->setMessage(toQString(error));
    plot_->setFigure(std::nullopt);
  }
  Q_EMIT figureChanged();
}

void ResultsView::describe(const FigureHit& hit) {
  const Figure* const figure = plot_->figure();
  if (figure == nullptr) return;
  const FigurePanel& panel = figure->panels[hit.panel];
  QString text = toQString(panel.title);
  if (const auto* const curves = std::get_if<CurvePanel>(&panel.content); curves && hit.point) {
    const Curve& curve = curves->curves[hit.point->series];
    text += QStringLiteral("  %1: %2 at %3")
                .arg(toQString(curve.label))
                .arg(curve.y[hit.point->index], 0, 'g', 5)
                .arg(curve.x[hit.point->index]);
  } else if (const auto* const map = std::get_if<MapPanel>(&panel.content); map && hit.cell) {
    text += QStringLiteral("  %1").arg(map->values(hit.cell->row, hit.cell->col), 0, 'g', 4);
  } else if (const auto* const bars = std::get_if<BarPanel>(&panel.content); bars && hit.point) {
    const BarPanel::Series& series = bars->series[hit.point->series];
    text += QStringLiteral("  %1, %2: %3")
                .arg(toQString(bars->groups[hit.point->index]), toQString(series.label))
                .arg(series.values[hit.point->index], 0, 'g', 4);
  }
  Q_EMIT status(text.trimmed());
}

QStringList ResultsView::commandLines() const {
  const std::vector<const Document*> documents = chosen();
  if (documents.empty() || kind_->count() == 0) return {};
  QString line = QStringLiteral("lime-figure");
  for (const Document* const document : documents) {
    line += QLatin1Char(' ') + quotedForShell(toQString(document->path));
  }
  line += QStringLiteral(" --kind ") + kind_->currentText();
  if (preferences().layer_base != 0) line += QStringLiteral(" --layer-base 1");
  return {line + QStringLiteral(" -o %1.pdf").arg(kind_->currentText())};
}

Json ResultsView::state() const {
  return {{"metric", metric_->currentText().toStdString()},
          {"figure", kind_->currentText().toStdString()}};
}

void ResultsView::setState(const Json& state) {
  choose(*metric_, toQString(state.value("metric", std::string())));
  listFigures();
  choose(*kind_, toQString(state.value("figure", std::string())));
  draw();
}

void ResultsView::zoom(double factor) { plot_->zoom(factor); }
void ResultsView::showAll() { plot_->showAll(); }

ViewKind resultsViewKind() {
  return {.id = QStringLiteral("results"),
          .title = QStringLiteral("Results"),
          .question = QStringLiteral("What do the finished measurements say, as in a paper?"),
          .shows = [](const Document& document) { return document.results != nullptr; },
          .make = [](const ViewContext& context, QWidget* parent) -> View* {
            return new ResultsView(context, parent);
          }};
}

}  // namespace lime::explorer
