// SPDX-License-Identifier: Apache-2.0
#include "explorer/results/results_view.h"

#include <QMenu>

#include "explorer/widgets/controls.h"
#include "explorer/widgets/figure_pane.h"

namespace lime::explorer {
namespace {

const QString kNoResultsOpen = u"No results are open."_s;

/// Returns the values of a column of all rows, as texts.
QStringList namesOf(const std::vector<const Document*>& documents, const Column& column) {
  QStringList names;
  for (const Document* const document : documents) {
    for (const ResultRow& row : document->results->results.rows) {
      if (row.has(column)) names << toQString(row.text(column));
    }
  }
  names.removeDuplicates();
  return names;
}

}  // namespace

CheckMenu::CheckMenu(const QString& title, const QString& toolTip) {
  setText(title);
  setToolTip(toolTip);
  setPopupMode(QToolButton::InstantPopup);
  setFocusPolicy(Qt::StrongFocus);
  setMenu(new QMenu(this));
}

void CheckMenu::setNames(const QStringList& names) {
  setEnabled(names.size() > 1);
  if (names == names_) return;
  names_ = names;
  menu()->clear();
  for (const QString& name : names_) {
    QAction* const box = menu()->addAction(shownText(name.toStdString()));
    box->setCheckable(true);
    box->setChecked(isChecked(name));
    connect(box, &QAction::toggled, this, [this, name](bool is_on) {
      if (is_on) {
        unchecked_.remove(name);
      } else {
        unchecked_.insert(name);
      }
      Q_EMIT changed();
    });
  }
}

std::vector<std::string> CheckMenu::selection() const {
  std::vector<std::string> checked;
  for (const QString& name : names_) {
    if (isChecked(name)) checked.push_back(name.toStdString());
  }
  return checked.size() == static_cast<std::size_t>(names_.size()) ? std::vector<std::string>()
                                                                   : checked;
}

Json CheckMenu::unchecked() const {
  Json names = Json::array();
  for (const QString& name : names_) {
    if (!isChecked(name)) names.push_back(name.toStdString());
  }
  return names;
}

void CheckMenu::setUnchecked(const Json& names) {
  unchecked_.clear();
  for (const Json& name : names) unchecked_.insert(toQString(name.get<std::string>()));
  setNames(std::exchange(names_, {}));
}

ResultsView::ResultsView(const ViewContext& context)
    : View(u"Results"_s, context),
      documents_(new CheckMenu(u"&Documents"_s, u"Results to draw"_s)),
      labels_(new CheckMenu(u"M&odels"_s, u"Models to draw"_s)),
      sites_(new CheckMenu(u"S&ites"_s, u"Sites to draw"_s)),
      pane_(new FigurePane(u"figure of results"_s)) {
  auto* const controls = new QWidget;
  BarLayout* const bar = makeBar(*controls);
  metric_ = addChoiceBox(*bar, u"&Metric"_s, u"Metric of the results"_s);
  kind_ = addChoiceBox(*bar, u"&Figure"_s, u"Kind of figure"_s);
  for (const auto& [name, menu] :
       {std::pair("hidden_documents", documents_), std::pair("hidden_labels", labels_),
        std::pair("hidden_sites", sites_)}) {
    bar->addWidget(menu);
    addSetting(
        name, [menu = menu] { return menu->unchecked(); },
        [menu = menu](const Json& names) { menu->setUnchecked(names); });
    connect(menu, &CheckMenu::changed, this, [this] {
      recordChange(u"Select what is drawn"_s);
      listFilters();
      draw();
    });
  }
  bar->addStretch();
  addSetting("metric", *metric_, u"Select a metric"_s, [this] { draw(); });
  connect(metric_, &QComboBox::currentIndexChanged, this, &ResultsView::listFigures);
  addSetting("figure", *kind_, u"Select a figure"_s, [this] { draw(); });
  QVBoxLayout* const column = fillWithColumn(*this);
  column->addWidget(controls);
  column->addWidget(pane_, 1);
  panes().add(*pane_);
  setFirstFocus(&pane_->plot());
  pane_->plot().setDescriber([this](const FigureHit& hit) { return describe(hit); });
  watchDocuments([this] { listMetrics(); });
  connect(&workspace(), &Workspace::currentChanged, this, &ResultsView::listMetrics);
  listMetrics();
}

std::vector<const Document*> ResultsView::ofMetric() const {
  std::vector<const Document*> documents = workspace().documentsOf(DocumentKind::kResults);
  std::erase_if(documents, [this](const Document* document) {
    return toQString(document->results->results.metric) != metric_->currentText();
  });
  return documents;
}

std::vector<const Document*> ResultsView::selected() const {
  std::vector<const Document*> documents = ofMetric();
  std::erase_if(documents, [this](const Document* document) {
    return !documents_->isChecked(workspace().uniqueLabel(*document));
  });
  return documents;
}

void ResultsView::listFilters() {
  QStringList documents;
  for (const Document* const document : ofMetric()) documents << workspace().uniqueLabel(*document);
  documents_->setNames(documents);
  labels_->setNames(namesOf(selected(), col::kLabel));
  sites_->setNames(namesOf(selected(), col::kSite));
}

void ResultsView::listMetrics() {
  const QSignalBlocker quiet(metric_);
  QStringList metrics;
  for (const Document* const document : workspace().documentsOf(DocumentKind::kResults)) {
    metrics << toQString(document->results->results.metric);
  }
  // Embeddings have a view of their own.
  std::ranges::stable_partition(metrics, [](const QString& metric) { return metric != u"tsne"_s; });
  setNames(*metric_, metrics);
  const Document* const current = workspace().find(workspace().current());
  // One that was made current here, or opened into the open view, is shown.
  const bool is_new = workspace().current() != current_;
  current_ = workspace().current();
  if (is_new && current != nullptr && current->results &&
      (isVisible() || current->results->results.metric != "tsne")) {
    selectData(*metric_, toQString(current->results->results.metric));
  }
  listFigures();
  draw();
}

void ResultsView::listFigures() {
  const QSignalBlocker quiet(kind_);
  const QVariant requested = kind_->currentData();
  kind_->clear();
  for (const Recipe* const recipe : recipes_of(selectedName(*metric_))) {
    addChoice(*kind_, toQString(recipe->name), toQString(recipe->name), toQString(recipe->help));
  }
  selectData(*kind_, requested);
  listFilters();
}

FigureOptions ResultsView::options() const {
  FigureOptions options;
  options.kind = kind_->currentText().toStdString();
  options.layer_base = preferences().layer_base;
  options.label = labels_->selection();
  options.site = sites_->selection();
  return options;
}

void ResultsView::drawJointly(const std::vector<const Document*>& documents,
                              FigureOrMessage& figure_or_message) {
  std::vector<FigureSource> sources;
  drawn_.clear();
  left_out_.clear();
  for (const Document* const document : documents) {
    sources.push_back(*document->results);
    try {
      figure_or_message.figure = make_figure(sources, options());
      drawn_.push_back(document->id);
    } catch (const Error& error) {
      sources.pop_back();
      if (figure_or_message.message.isEmpty()) figure_or_message.message = toQString(error);
      // The remedy is for the command line.
      left_out_[document->id] = toQString(error).section(u"; "_s, 0, 0);
    }
  }
}

QString ResultsView::obstacle(const Document& document) const {
  const auto found = left_out_.find(document.id);
  return found == left_out_.end() ? QString() : found->second;
}

void ResultsView::draw() {
  rememberState();
  std::vector<const Document*> documents = selected();
  pane_->plot().setFigureStyle(figureStyle());
  FigureOrMessage figure_or_message;
  left_out_.clear();
  if (documents.empty()) {
    figure_or_message.message = kNoResultsOpen;
  } else if (kind_->count() == 0) {
    figure_or_message.message = u"These results have no figure; open them with pandas."_s;
  } else {
    drawJointly(documents, figure_or_message);
    const auto current = std::ranges::find(documents, workspace().current(), &Document::id);
    if (!left_out_.empty() && current != documents.end()) {
      // The current document is drawn in any case.
      std::rotate(documents.begin(), current, current + 1);
      figure_or_message = {};
      drawJointly(documents, figure_or_message);
    }
  }
  colours_.clear();
  if (figure_or_message.figure) {
    colours_ = colourModels(figure_or_message.figure->panels, workspace());
  }
  pane_->show(std::move(figure_or_message.figure), figure_or_message.message);
  Q_EMIT figureChanged();
}

QString ResultsView::describe(const FigureHit& hit) const {
  const Figure* const figure = pane_->plot().figure();
  if (figure == nullptr) return {};
  const FigurePanel& panel = figure->panels[hit.panel];
  QString text = toQString(panel.title);
  if (const auto* const curves = std::get_if<CurvePanel>(&panel.content); curves && hit.point) {
    const Curve& curve = curves->curves[hit.point->series];
    text += u"  %1: %2 at %3"_s.arg(toQString(curve.label))
                .arg(curve.y[hit.point->index], 0, 'g', 5)
                .arg(curve.x[hit.point->index]);
  } else if (const auto* const map = std::get_if<HeatmapPanel>(&panel.content); map && hit.cell) {
    text += u"  %1"_s.arg(map->values(hit.cell->row, hit.cell->col), 0, 'g', 4);
  } else if (const auto* const bars = std::get_if<BarPanel>(&panel.content); bars && hit.point) {
    const BarPanel::Series& series = bars->series[hit.point->series];
    text +=
        u"  %1, %2: %3"_s.arg(toQString(bars->groups[hit.point->index]), toQString(series.label))
            .arg(series.values[hit.point->index], 0, 'g', 4);
  }
  return text.trimmed();
}

QStringList ResultsView::commandLines() const {
  if (pane_->plot().figure() == nullptr) return {};
  QStringList draw{"lime-figure"};
  for (const int id : drawn_) draw << toQString(workspace().find(id)->path);
  draw << "--kind" << kind_->currentText();
  const FigureOptions shown = options();
  if (!shown.label.empty()) draw << "--label";
  for (const std::string& label : shown.label) draw << toQString(label);
  if (!shown.site.empty()) draw << "--site";
  for (const std::string& site : shown.site) draw << toQString(site);
  return {
      shellLine(draw << colours_ << layerBaseOption() << "-o" << kind_->currentText() + u".pdf"_s)};
}

}  // namespace lime::explorer
