// SPDX-License-Identifier: Apache-2.0
#include "explorer/views/probes_view.h"

#include <QAction>
#include <QCheckBox>
#include <QComboBox>
#include <QEvent>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QSignalBlocker>
#include <QSplitter>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>
#include <set>

#include "core/errors.h"
#include "explorer/models/text.h"
#include "explorer/models/workspace.h"
#include "explorer/views/choice_box.h"
#include "explorer/views/figure_pane.h"
#include "explorer/views/figure_view.h"
#include "explorer/views/pane_layout.h"
#include "explorer/views/theme.h"
#include "store/capture_reader.h"

namespace lime::explorer {

ProbesView::ProbesView(const ViewContext& context, QWidget* parent)
    : View(QStringLiteral("Probes"), context, parent),
      measurements_(context.workspace, context.jobs),
      curves_(new FigurePane(QStringLiteral("accuracy over layers"))),
      confusion_(new FigurePane(QStringLiteral("confusion matrix"))),
      active_(curves_) {
  QVBoxLayout* const column = fillWithColumn(*this);
  column->addWidget(makeBar());
  problems_ = makeNote(QStringLiteral("what could not be probed"));
  column->addWidget(problems_);
  QSplitter* const top = makeSplitter(Qt::Horizontal, {curves_, makeTasks()}, {1000, 1000});
  column->addWidget(makeSplitter(Qt::Vertical, {top, makeDetail()}, {1150, 1000}), 1);
  setFirstFocus(&curves_->plot());
  connectPanes();
  addActions();
  for (const auto signal :
       {&Workspace::documentAdded, &Workspace::documentRemoved, &Workspace::documentChanged}) {
    connect(&workspace(), signal, this, [this] { documentsChanged(); });
  }
  connect(&workspace(), &Workspace::selectionChanged, this, [this] {
    look();
    markLayer();
    showChosen();
  });
  connect(&measurements_, &ProbeMeasurements::changed, this, [this] { draw(); });
  connect(&measurements_, &ProbeMeasurements::detailChanged, this, [this] { showDetail(); });
  documentsChanged();
}

QWidget* ProbesView::makeBar() {
  auto* const widget = new QWidget;
  auto* const bar = new QHBoxLayout(widget);
  bar->setContentsMargins(12, 8, 12, 8);
  question_ = addChoiceBox(*bar, QStringLiteral("&Probe"),
                           QStringLiteral("What a linear classifier is to read from a layer "
                                          "(Alain & Bengio 2016, arXiv:1610.01644)"));
  question_->addItem(QStringLiteral("words"), static_cast<int>(ProbeQuestion::kSeparability));
  question_->setItemData(0,
                         QStringLiteral("Which of the words of lime-capture --only a token is: "
                                        "multinomial logistic regression, 5 folds"),
                         Qt::ToolTipRole);
  question_->addItem(QStringLiteral("minimal pairs"), static_cast<int>(ProbeQuestion::kBlimp));
  question_->setItemData(1,
                         QStringLiteral("Which sentence of a pair is good: logistic regression of "
                                        "pooled sentences, pairs kept whole (BLiMP, Warstadt et "
                                        "al. 2020, arXiv:1912.00582)"),
                         Qt::ToolTipRole);
  site_ = addChoiceBox(*bar, QStringLiteral("S&ite"), QStringLiteral("Which activations"));
  model_ = addChoiceBox(*bar, QStringLiteral("&Model"),
                        QStringLiteral("Whose tasks and judgements are shown"));
  numbers_ = addChoiceBox(*bar, QStringLiteral("&Confusion"),
                          QStringLiteral("What stands in the cells of the confusion matrix"));
  numbers_->addItem(QStringLiteral("counts"), false);
  numbers_->addItem(QStringLiteral("shares of the true class"), true);
  bar->addStretch();
  const auto on = [this](QComboBox* box, const QString& text) {
    connect(box, &QComboBox::activated, this, [this, text] { choose(text); });
  };
  connect(question_, &QComboBox::activated, this, [this] {
    task_.clear();
    filter_.setCell(std::nullopt);
    listSources();
    choose(QStringLiteral("Choose the probe"));
  });
  on(site_, QStringLiteral("Choose the site"));
  on(model_, QStringLiteral("Choose the model"));
  connect(numbers_, &QComboBox::activated, this, [this] {
    recordChange(QStringLiteral("Counts or shares"));
    drawConfusion();
  });
  return widget;
}

void ProbesView::connectPanes() {
  using Describe = QString (ProbesView::*)(const FigureHit&) const;
  using Click = void (ProbesView::*)(const FigureHit&);
  struct Row {
    FigurePane* pane;
    Describe describe;
    Click click;
  };
  for (const Row& row : {Row{curves_, &ProbesView::describeCurve, &ProbesView::clickCurve},
                         Row{confusion_, &ProbesView::describeCell, &ProbesView::clickCell}}) {
    FigureView& plot = row.pane->plot();
    connect(row.pane, &FigurePane::activated, this, [this, pane = row.pane] { activate(pane); });
    connect(&plot, &FigureView::hovered, this,
            [this, describe = row.describe](const FigureHit& hit) {
              Q_EMIT status((this->*describe)(hit));
            });
    connect(&plot, &FigureView::unhovered, this, [this] { Q_EMIT status({}); });
    connect(&plot, &FigureView::clicked, this,
            [this, click = row.click](const FigureHit& hit) { (this->*click)(hit); });
  }
  activate(curves_);
}

void ProbesView::addActions() {
  const auto add = [this](const QString& text, const QKeySequence& keys, const QString& tip,
                          const std::function<void()>& run) {
    connect(addViewAction(text, keys, tip), &QAction::triggered, this, run);
  };
  add(QStringLiteral("Previous layer"), QKeySequence(Qt::ALT | Qt::Key_Left),
      QStringLiteral("Select the layer before"), [this] { walkLayers(-1); });
  add(QStringLiteral("Next layer"), QKeySequence(Qt::ALT | Qt::Key_Right),
      QStringLiteral("Select the layer behind"), [this] { walkLayers(1); });
  add(QStringLiteral("All tasks"), QKeySequence(Qt::Key_Escape),
      QStringLiteral("Give up the chosen task and the cell of the confusion matrix"), [this] {
        changeState(QStringLiteral("All tasks"), [this] {
          task_.clear();
          filter_.setCell(std::nullopt);
          look();
          draw();
        });
      });
  add(QStringLiteral("Find in sentences"), QKeySequence::Find,
      QStringLiteral("List only judgements whose sentence holds a text"),
      [this] { search_->setFocus(Qt::ShortcutFocusReason); });
  add(QStringLiteral("Measure again"), QKeySequence(Qt::CTRL | Qt::Key_R),
      QStringLiteral("Fit anew what was stopped or could not be fitted"), [this] {
        measurements_.forget();
        measure();
      });
}

ProbeQuestion ProbesView::question() const {
  return static_cast<ProbeQuestion>(question_->currentData().toInt());
}

std::string ProbesView::site() const { return site_->currentData().toString().toStdString(); }

const ProbeSource* ProbesView::source() const {
  const QString label = model_->currentData().toString();
  const auto at = std::find_if(sources_.begin(), sources_.end(),
                               [&](const ProbeSource& one) { return one.label == label; });
  return at == sources_.end() ? nullptr : &*at;
}

void ProbesView::choose(const QString& text) {
  recordChange(text);
  measure();
}

void ProbesView::documentsChanged() {
  // Shows what there is, where nothing else was asked for.
  if (sources_.empty() && measurements_.sources(question()).empty()) {
    const ProbeQuestion other = question() == ProbeQuestion::kSeparability
                                    ? ProbeQuestion::kBlimp
                                    : ProbeQuestion::kSeparability;
    if (!measurements_.sources(other).empty()) {
      chooseData(*question_, static_cast<int>(other));
    }
  }
  listSources();
  if (isVisible()) measurements_.lookAgain();
  measure();
  draw();
}

void ProbesView::listSources() {
  sources_ = measurements_.sources(question());
  const QVariant site = site_->currentData();
  const QVariant model = model_->currentData();
  site_->clear();
  model_->clear();
  for (const ProbeSource& source : sources_) {
    model_->addItem(source.label, source.label);
    for (const std::string& name : source.sites) {
      if (site_->findData(toQString(name)) < 0) site_->addItem(shownText(name), toQString(name));
    }
  }
  chooseData(*site_, site);
  chooseData(*model_, model);
  model_->setEnabled(model_->count() > 0);
}

void ProbesView::measure() {
  // Nothing is computed for a view that nobody looks at.
  if (!isVisible()) return;
  measurements_.setThreads(preferences().threads);
  measurements_.measure(question());
  look();
  draw();
}

std::optional<ProbeMeasurements::Place> ProbesView::wantedPlace() const {
  const ProbeSource* const shown = source();
  const std::optional<int> layer = workspace().selection().layer;
  if (shown == nullptr || !layer) return std::nullopt;
  const bool has_site =
      std::find(shown->sites.begin(), shown->sites.end(), site()) != shown->sites.end();
  if (!has_site) return std::nullopt;
  return ProbeMeasurements::Place{.question = question(),
                                  .label = shown->label,
                                  .site = site(),
                                  .layer = *layer,
                                  .task = task_};
}

void ProbesView::look() {
  if (isVisible()) measurements_.look(wantedPlace());
}

std::optional<Figure> ProbesView::figure() const {
  if (active_ == nullptr && tasks_.rowCount() > 0) {
    std::vector<TaskAccuracy> sorted;
    for (int row = 0; row < tasks_sort_.rowCount(); ++row) {
      const int at = tasks_sort_.mapToSource(tasks_sort_.index(row, 0)).row();
      sorted.push_back(tasks_.tasks()[static_cast<std::size_t>(at)]);
    }
    return taskFigure(sorted, preferences().layer_base);
  }
  const Figure* const shown = active_ == nullptr ? nullptr : active_->plot().figure();
  if (shown != nullptr) return *shown;
  const Figure* const curves = curves_->plot().figure();
  return curves == nullptr ? std::nullopt : std::optional(*curves);
}

QStringList ProbesView::commandLines() const {
  if (sources_.empty()) return {};
  const QString metric = toQString(metricOf(question()));
  QStringList captures, labels, results;
  for (const ProbeSource& one : sources_) {
    const Document* const document = workspace().find(one.document);
    if (document == nullptr) continue;
    const QString path = quotedForShell(toQString(document->path));
    if (one.is_capture) {
      captures << path;
      labels << quotedForShell(one.label);
    } else if (!results.contains(path)) {
      results << path;
    }
  }
  QStringList lines;
  if (!captures.isEmpty()) {
    lines << QStringLiteral("lime-metrics %1 %2 --label %3 --site %4 -o %1.json")
                 .arg(metric, captures.join(QLatin1Char(' ')), labels.join(QLatin1Char(' ')),
                      site_->currentText());
    results << metric + QStringLiteral(".json");
  }
  lines << QStringLiteral("lime-figure %1 --site %2%3%4 -o %5.pdf")
               .arg(results.join(QLatin1Char(' ')), site_->currentText(),
                    task_.empty() ? QString() : QStringLiteral(" --by task"),
                    preferences().layer_base != 0 ? QStringLiteral(" --layer-base 1") : QString(),
                    metric);
  const std::optional<ProbeMeasurements::Place> place = wantedPlace();
  const ProbeSource* const shown = source();
  if (!place || shown->capture.empty()) return lines;
  QString one = QStringLiteral("lime-metrics %1 %2 --site %3 --layer %4")
                    .arg(metric, quotedForShell(toQString(shown->capture)),
                         quotedForShell(site_->currentData().toString()))
                    .arg(place->layer);
  if (!task_.empty()) one += QStringLiteral(" --task ") + quotedForShell(toQString(task_));
  if (question() == ProbeQuestion::kBlimp) one += QStringLiteral(" --judgements judgements.jsonl");
  return lines << one + QStringLiteral(" -o layer.json");
}

Json ProbesView::state() const {
  return {{"probe", metricOf(question())},
          {"site", site()},
          {"model", model_->currentData().toString().toStdString()},
          {"task", task_},
          {"sort", tasks_sort_.sortColumn()},
          {"ascending", tasks_sort_.sortOrder() == Qt::AscendingOrder},
          {"shares", numbers_->currentData().toBool()},
          {"wrong_only", wrong_only_->isChecked()},
          {"cell", filter_.cell() ? Json{filter_.cell()->first, filter_.cell()->second} : Json()}};
}

void ProbesView::setState(const Json& state) {
  const std::string probe = state.value("probe", metricOf(question()));
  chooseData(*question_, static_cast<int>(probe == "blimp" ? ProbeQuestion::kBlimp
                                                           : ProbeQuestion::kSeparability));
  listSources();
  chooseData(*site_, toQString(state.value("site", std::string())));
  chooseData(*model_, toQString(state.value("model", std::string())));
  {
    const QSignalBlocker quiet(tasks_table_->horizontalHeader());
    const int column = state.value("sort", tasks_sort_.sortColumn());
    const bool ascending = state.value("ascending", false);
    const Qt::SortOrder order = ascending ? Qt::AscendingOrder : Qt::DescendingOrder;
    tasks_table_->horizontalHeader()->setSortIndicator(column, order);
    tasks_sort_.sort(column, order);
  }
  chooseData(*numbers_, state.value("shares", numbers_->currentData().toBool()));
  task_ = state.value("task", task_);
  {
    const QSignalBlocker quiet(wrong_only_);
    wrong_only_->setChecked(state.value("wrong_only", wrong_only_->isChecked()));
  }
  filter_.setWrongOnly(wrong_only_->isChecked());
  if (state.contains("cell")) {
    const Json& cell = state.at("cell");
    filter_.setCell(cell.is_null() ? std::nullopt : std::optional(cell.get<std::pair<int, int>>()));
  }
  measure();
  draw();
  showDetail();
}

std::vector<Habit> ProbesView::habits() const {
  return {
      {QStringLiteral("look at the probe of a layer"), QStringLiteral("click a curve")},
      {QStringLiteral("choose a task, give it up"), QStringLiteral("click its accuracy")},
      {QStringLiteral("list one kind of mistake"), QStringLiteral("click the confusion matrix")},
      {QStringLiteral("walk the confusion matrix, list a kind"), QStringLiteral("Arrows, Enter")}};
}

void ProbesView::zoom(double factor) {
  if (active_ != nullptr) active_->plot().zoom(factor);
}

void ProbesView::showAll() {
  for (FigurePane* const pane : {curves_, confusion_}) pane->plot().showAll();
}

void ProbesView::showEvent(QShowEvent* event) {
  View::showEvent(event);
  listSources();
  measure();
}

void ProbesView::changeEvent(QEvent* event) {
  View::changeEvent(event);
  if (event->type() != QEvent::PaletteChange) return;
  draw();
  drawConfusion();
}

ViewKind probesViewKind() {
  return {.id = QStringLiteral("probes"),
          .title = QStringLiteral("Probes"),
          .question = QStringLiteral("What can a linear map read from each layer, and where does "
                                     "it fail?"),
          .shows =
              [](const Document& document) {
                if (document.capture) {
                  const CaptureInfo& info = document.capture->info();
                  if (document.capture->sites().empty()) return false;
                  return !info.class_names.empty() || !info.task_names.empty();
                }
                if (!document.results) return false;
                const std::string& metric = document.results->results.metric;
                return metric == "separability" || metric == "blimp";
              },
          .make = [](const ViewContext& context, QWidget* parent) -> View* {
            return new ProbesView(context, parent);
          }};
}

}  // namespace lime::explorer
