// SPDX-License-Identifier: Apache-2.0
#include "explorer/probes/probes_view.h"

#include "explorer/models/figures.h"
#include "explorer/probes/prediction_list.h"
#include "explorer/probes/probe_curves.h"
#include "explorer/probes/task_table.h"
#include "explorer/widgets/controls.h"
#include "explorer/widgets/figure_pane.h"
#include "explorer/widgets/figure_view.h"
#include "store/capture_reader.h"
#include "viz/recipes/figure_row.h"

namespace lime::explorer {
namespace {

const QString kNoWords =
    u"Nothing to probe.\n\nOpen a capture of selected words (lime-capture --only ' is, are, was, "
    u"were'), or results of lime-metrics separability."_s;
const QString kNoPairs =
    u"Nothing to probe.\n\nOpen a capture of minimal pairs (lime-capture --pairs FILE.jsonl --rows "
    u"mean), or results of lime-metrics blimp."_s;
const QString kNoProbe = u"Click a layer to see its confusion matrix and misclassified tokens"_s;
const QString kFitting = u"Fitting probes ..."_s;
constexpr double kBandFraction = 0.01;  // of the axis

ProbeQuestion otherThan(ProbeQuestion question) {
  return question == ProbeQuestion::kSeparability ? ProbeQuestion::kBlimp
                                                  : ProbeQuestion::kSeparability;
}

}  // namespace

ProbesView::ProbesView(const ViewContext& context)
    : View(u"Probes"_s, context),
      measurements_(context.workspace, context.jobs, context.preferences),
      problems_(makeNote(u"probe problems"_s)),
      curves_(new FigurePane(u"accuracy over layers"_s)),
      tasks_(new TaskTable),
      confusion_(new ConfusionPane),
      predictions_(new PredictionList) {
  QVBoxLayout* const column = fillWithColumn(*this);
  column->addWidget(makeControls());
  addSettings();
  column->addWidget(problems_);
  QSplitter* const top = makeSplitter(Qt::Horizontal, {curves_, tasks_}, {1000, 1000});
  QSplitter* const detail = makeSplitter(Qt::Horizontal, {confusion_, predictions_}, {1000, 2000});
  column->addWidget(makeSplitter(Qt::Vertical, {top, detail}, {1150, 1000}), 1);
  setFirstFocus(&curves_->plot());
  panes().add(*curves_);
  panes().add(*confusion_);
  curves_->followJobs(jobs(), u"probes/"_s);
  connectAll();
  connectPanes();
  addActions();
  onDocumentsChanged();
  drawDetail();
}

QWidget* ProbesView::makeControls() {
  auto* const widget = new QWidget;
  BarLayout* const bar = makeBar(*widget);
  question_ = addChoiceBox(
      *bar, u"&Probe"_s,
      u"Property that a linear classifier predicts from a layer's activations (Alain & "
      u"Bengio 2016, arXiv:1610.01644)"_s);
  addChoice(*question_, u"words"_s, toQString(metricOf(ProbeQuestion::kSeparability)),
            u"Class of a token among the words of lime-capture --only: multinomial logistic "
            u"regression, 5 folds"_s);
  addChoice(*question_, u"minimal pairs"_s, toQString(metricOf(ProbeQuestion::kBlimp)),
            u"The good sentence of a pair: logistic regression of pooled sentences, pairs stay "
            u"within a fold (BLiMP, Warstadt et al. 2020, arXiv:1912.00582)"_s);
  site_ = addChoiceBox(*bar, u"S&ite"_s, u"Site of the activations"_s);
  model_ = addChoiceBox(*bar, u"&Model"_s, u"Model whose tasks and predictions are shown"_s);
  numbers_ = addChoiceBox(*bar, u"&Confusion"_s, u"Values of the confusion matrix"_s);
  numbers_->addItem(u"counts"_s, false);
  numbers_->addItem(u"fractions of the true class"_s, true);
  bar->addStretch();
  return widget;
}

void ProbesView::addSettings() {
  connect(question_, &QComboBox::currentIndexChanged, this, &ProbesView::listSources);
  connect(question_, &QComboBox::activated, this, [this] {
    task_.clear();
    predictions_->setCell(std::nullopt);
  });
  const auto update = [this] { measure(); };
  addSetting("probe", *question_, u"Select the probe"_s, update);
  addSetting("site", *site_, u"Select the site"_s, update);
  addSetting("model", *model_, u"Select the model"_s, update);
  addSetting("shares", *numbers_, u"Counts or fractions"_s, [this] { drawDetail(); });
  addSetting(
      "task", [this] { return Json(task_); }, [this](const Json& task) { task.get_to(task_); });
  addSetting(
      "sort", [this] { return Json(tasks_->sortColumn()); },
      [this](const Json& column) { tasks_->setSort(column, tasks_->isAscending()); });
  addSetting(
      "ascending", [this] { return Json(tasks_->isAscending()); },
      [this](const Json& ascending) { tasks_->setSort(tasks_->sortColumn(), ascending); });
  addSetting(
      "wrong_only", [this] { return Json(predictions_->isMisclassifiedOnly()); },
      [this](const Json& only) { predictions_->setMisclassifiedOnly(only); });
  addSetting(
      "cell",
      [this] {
        const auto& cell = predictions_->cell();
        return cell ? Json{cell->first, cell->second} : Json();
      },
      [this](const Json& cell) {
        predictions_->setCell(cell.is_null() ? std::nullopt
                                             : std::optional(cell.get<std::pair<int, int>>()));
      });
}

void ProbesView::connectAll() {
  watchDocuments([this] { onDocumentsChanged(); });
  connect(&workspace(), &Workspace::selectionChanged, this, [this] {
    showWanted();
    markLayer();
    predictions_->showSelected(workspace().selection().tokens);
  });
  connect(&measurements_, &ProbeMeasurements::changed, this, &ProbesView::draw);
  connect(&measurements_, &ProbeMeasurements::detailChanged, this, &ProbesView::drawDetail);
  connect(predictions_, &PredictionList::misclassifiedOnlyChanged, this,
          [this] { recordChange(u"Misclassified only"_s); });
  connect(predictions_, &PredictionList::tokensSelected, this,
          [this](const TokenSelection& tokens) {
            changeState(u"Select a prediction"_s, [&] { workspace().selectTokens(tokens); });
          });
}

void ProbesView::connectPanes() {
  curves_->plot().setDescriber([this](const FigureHit& hit) {
    const QString text = describeCurvePoint(curves_->plot().figure(), hit, u"accuracy"_s);
    return text.isEmpty() ? text : text + u"; click for its predictions"_s;
  });
  connect(&curves_->plot(), &FigureView::clicked, this, &ProbesView::selectCurve);
  connect(confusion_, &ConfusionPane::cellClicked, this, &ProbesView::selectCell);
  connect(tasks_, &TaskTable::taskSelected, this, &ProbesView::selectTask);
  connect(tasks_, &TaskTable::status, this, &View::status);
  connect(tasks_, &TaskTable::focused, this, [this] { panes().activate(nullptr); });
  connect(&panes(), &PaneGroup::activated, tasks_,
          [this] { tasks_->setActive(panes().active() == nullptr); });
  connect(tasks_, &TaskTable::sortChanged, this, [this] {
    recordChange(u"Sort the tasks"_s);
    Q_EMIT figureChanged();
  });
  tasks_->setActive(false);
}

void ProbesView::addActions() {
  addLayerActions([this](int step) { walkLayers(layers(), step); });
  addViewAction(u"All tasks"_s, {QKeySequence(Qt::Key_Escape)},
                u"Clear the selected task and the cell of the confusion matrix"_s, [this] {
                  changeState(u"All tasks"_s, [this] {
                    task_.clear();
                    predictions_->setCell(std::nullopt);
                    showWanted();
                    draw();
                  });
                });
  addViewAction(u"Find in sentences"_s, QKeySequence::keyBindings(QKeySequence::Find),
                u"List only predictions whose sentence contains a text"_s,
                [this] { predictions_->focusSearch(); });
  addRecomputeAction(u"Refit all probes, including cancelled and failed ones"_s, [this] {
    measurements_.recompute();
    measure();
  });
}

ProbeQuestion ProbesView::question() const {
  const bool is_pairs = selectedName(*question_) == metricOf(ProbeQuestion::kBlimp);
  return is_pairs ? ProbeQuestion::kBlimp : ProbeQuestion::kSeparability;
}

const ProbeSource* ProbesView::source() const {
  const QString label = model_->currentData().toString();
  const auto at = std::ranges::find(sources_, label, &ProbeSource::label);
  return at == sources_.end() ? nullptr : &*at;
}

void ProbesView::onDocumentsChanged() {
  // Switches to the probe that there is, where nothing else was selected.
  const ProbeQuestion other = otherThan(question());
  if (sources_.empty() && measurements_.sources(question()).empty() &&
      !measurements_.sources(other).empty()) {
    selectData(*question_, toQString(metricOf(other)));
  }
  listSources();
  if (isVisible()) measurements_.retryDetail();
  measure();
  draw();
}

void ProbesView::listSources() {
  sources_ = measurements_.sources(question());
  QStringList labels, sites;
  for (const ProbeSource& source : sources_) {
    labels << source.label;
    for (const std::string& name : source.sites) sites << toQString(name);
  }
  setNames(*site_, sites);
  setNames(*model_, labels);
  model_->setEnabled(!labels.isEmpty());
}

void ProbesView::measure() {
  // A hidden view computes nothing.
  if (!isVisible()) return;
  measurements_.measure(question());
  showWanted();
  draw();
}

std::optional<ProbeMeasurements::Place> ProbesView::wantedPlace() const {
  const ProbeSource* const shown = source();
  const std::optional<int> layer = workspace().selection().layer;
  if (shown == nullptr || !layer) return std::nullopt;
  if (!contains(shown->sites, site())) return std::nullopt;
  return ProbeMeasurements::Place{question(), shown->label, site(), *layer, task_};
}

void ProbesView::showWanted() {
  if (isVisible()) measurements_.showDetail(wantedPlace());
}

void ProbesView::draw() {
  panes().setStyle(figureStyle());
  const bool has_tasks = question() == ProbeQuestion::kBlimp;
  tasks_->setVisible(has_tasks && !sources_.empty());
  if (!has_tasks && panes().active() == nullptr) panes().activate(curves_);
  drawCurves();
  drawTasks();
  markLayer();
  setNote(*problems_, problems());
  rememberState();
  Q_EMIT figureChanged();
}

QStringList ProbesView::problems() const {
  QStringList lines;
  for (const ProbeSource& probe_source : sources_) {
    const QString& problem = measurements_.answer(probe_source, question()).problem;
    if (!problem.isEmpty()) lines << u"%1: %2"_s.arg(probe_source.label, problem);
  }
  return lines;
}

void ProbesView::drawCurves() {
  const bool of_pairs = question() == ProbeQuestion::kBlimp;
  const int base = preferences().layer_base;
  FigureOrMessage figure_or_message =
      probeCurves(measurements_.figureSources(question()), site(), task_, base);
  if (figure_or_message.message.isEmpty()) {
    figure_or_message.message = sources_.empty() ? (of_pairs ? kNoPairs : kNoWords)
                                : measurements_.isMeasuring(question()) ? kFitting
                                : figure_or_message.nothing.isEmpty()   ? problems().join(u'\n')
                                                                        : figure_or_message.nothing;
  }
  colours_.clear();
  if (figure_or_message.figure) {
    colours_ = colourModels(figure_or_message.figure->panels, workspace());
  }
  curves_->show(std::move(figure_or_message.figure), figure_or_message.message,
                of_pairs ? u"Accuracy on minimal pairs, by layer: %1"_s.arg(taskTitle(task_))
                         : u"Accuracy of word classification, by layer"_s);
  curves_->plot().linkAllPanels(workspace(), u"layer"_s, -base);
}

void ProbesView::drawTasks() {
  std::vector<TaskAccuracy> tasks;
  QString title = measurements_.isMeasuring(question())
                      ? kFitting
                      : u"No accuracies by task for this model and site"_s;
  const ProbeSource* const shown = source();
  if (question() == ProbeQuestion::kBlimp && shown != nullptr) {
    for (const FigureSource& figure_source : measurements_.figureSources(question())) {
      const bool is_it =
          !figure_source.results.rows.empty() &&
          figure_source.results.rows.front().text(col::kLabel) == shown->label.toStdString();
      if (!is_it) continue;
      try {
        tasks = taskAccuracies(figure_source, site());
        if (!tasks.empty()) title = u"Tasks of %1 by layer"_s.arg(shown->label);
      } catch (const Error& error) {
        title = toQString(error);
      }
    }
  }
  tasks_->setTasks(std::move(tasks), title, preferences().layer_base);
}

void ProbesView::markLayer() {
  const std::optional<int> layer = workspace().selection().layer;
  const Figure* const curves = curves_->plot().figure();
  if (curves != nullptr) {
    const auto& drawn = std::get<CurvePanel>(curves->panels.front().content).curves;
    const std::size_t num_layers = drawn.empty() ? 10 : drawn.front().x.size();
    curves_->plot().markColumn(
        layer ? std::optional<double>(*layer + preferences().layer_base) : std::nullopt,
        kBandFraction * static_cast<double>(num_layers));
  }
  tasks_->setCurrent(task_, layer);
}

void ProbesView::drawDetail() {
  const Answer<ProbeMeasurements::Detail>& answer = measurements_.detail();
  const QString message = !measurements_.place() ? kNoProbe
                          : answer.job != 0      ? u"Fitting ..."_s
                                                 : answer.problem;
  const ProbeMeasurements::Detail detail = answer.result.value_or(nullptr);
  const QString state = measurements_.place() ? message : u"No layer is selected"_s;
  predictions_->setDetail(detail, answer.problem.isEmpty() ? state : QString(),
                          preferences().layer_base);
  predictions_->showSelected(workspace().selection().tokens);
  confusion_->plot().setFigureStyle(figureStyle());
  confusion_->draw(detail, numbers_->currentData().toBool(), message);
  confusion_->markCells(predictions_->cell());
  Q_EMIT figureChanged();
}

void ProbesView::selectCurve(const FigureHit& hit) {
  changeState(u"Select the model and a layer"_s, [&] {
    if (const Curve* const curve = curveAt(curves_->plot().figure(), hit)) {
      const QString label = toQString(curve->label);
      // The curve of a control is named after its model.
      for (const ProbeSource& probe_source : sources_) {
        if (label == probe_source.label || label.startsWith(probe_source.label + u", "_s)) {
          selectData(*model_, probe_source.label);
        }
      }
    }
    setLayer(std::max(0, static_cast<int>(std::lround(hit.x)) - preferences().layer_base));
  });
  showWanted();
  draw();
}

void ProbesView::selectTask(const std::string& task, int layer) {
  changeState(u"Select the task"_s, [&] {
    task_ = task;
    if (layer >= 0) setLayer(layer);
    showWanted();
    draw();
  });
}

void ProbesView::selectCell(const std::pair<int, int>& cell) {
  changeState(u"Select a cell"_s, [&] {
    predictions_->setCell(predictions_->cell() == cell ? std::nullopt : std::optional(cell));
  });
  drawDetail();
}

std::set<int> ProbesView::layers() const {
  std::set<int> layers;
  for (const FigureSource& figure_source : measurements_.figureSources(question())) {
    for (const ResultRow& own : figure_source.results.rows) {
      const FigureRow row{&own, 0, &figure_source.path};
      const bool is_shown =
          row.text(col::kSite) == site() && row.has_index(col::kLayer, kMaxLayers);
      if (is_shown) layers.insert(row.index(col::kLayer, kMaxLayers));
    }
  }
  return layers;
}

std::optional<Figure> ProbesView::figure() const {
  if (panes().active() == nullptr && !tasks_->isEmpty()) {
    return taskFigure(tasks_->sorted(), preferences().layer_base);
  }
  if (std::optional<Figure> shown = View::figure()) return shown;
  const Figure* const curves = curves_->plot().figure();
  return curves == nullptr ? std::nullopt : std::optional(*curves);
}

QStringList ProbesView::commandLines() const {
  if (sources_.empty()) return {};
  const QString metric = toQString(metricOf(question()));
  const QString file = metric + u".json"_s;
  const std::optional<ProbeMeasurements::Place> place = wantedPlace();
  if (panes().active() != curves_ && place && !source()->capture.empty()) {
    QStringList fit{"lime-metrics",    metric,    toQString(source()->capture), "--site",
                    toQString(site()), "--layer", QString::number(place->layer)};
    if (!task_.empty()) fit << "--task" << toQString(task_);
    if (question() == ProbeQuestion::kBlimp) fit << QStringList{"--judgements", "judgements.jsonl"};
    return {shellLine(fit << "-o" << file)};
  }
  QStringList captures, labels, results, lines;
  for (const ProbeSource& probe_source : sources_) {
    const Document* const document = workspace().find(probe_source.document);
    if (document == nullptr ||
        (probe_source.is_capture && !measurements_.answer(probe_source, question()).result)) {
      continue;  // a capture that was refused has no curve
    }
    const QString path = toQString(document->path);
    if (probe_source.is_capture) {
      captures << path;
      labels << probe_source.label;
    } else if (!results.contains(path)) {
      results << path;
    }
  }
  const Figure* const curves = curves_->plot().figure();
  const bool is_one_depth = curves != nullptr && curves->panels.size() == 1;
  const bool is_drawn =
      panes().active() == curves_ && is_one_depth && (task_.empty() || results.isEmpty());
  if (!captures.isEmpty()) {
    QStringList measure{"lime-metrics", metric};
    measure << captures << "--label" << labels << "--site" << toQString(site());
    if (!task_.empty()) measure << "--task" << toQString(task_);
    lines << shellLine(measure << "-o" << file);
    results << file;
  }
  // No recipe draws the table of tasks, or one task of results of many.
  if (!is_drawn) return lines;
  QStringList draw{"lime-figure"};
  draw << results << "--site" << toQString(site()) << "--mixed-texts";
  if (!task_.empty()) draw << QStringList{"--by", "task"};
  return lines << shellLine(draw << colours_ << layerBaseOption() << "-o" << metric + u".pdf"_s);
}

void ProbesView::restored() {
  measure();
  draw();
  drawDetail();
}

std::vector<Shortcut> ProbesView::shortcuts() const {
  return {{u"Show the probe of a layer"_s, u"Click a curve"_s},
          {u"Select a task"_s, u"Click its accuracy"_s},
          {u"List one kind of error"_s, u"Click the confusion matrix"_s},
          {u"Move in the confusion matrix, list a cell"_s, u"Arrows, Enter"_s}};
}

void ProbesView::shown() {
  listSources();
  measure();
}

}  // namespace lime::explorer
