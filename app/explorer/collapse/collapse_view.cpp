// SPDX-License-Identifier: Apache-2.0
#include "explorer/collapse/collapse_view.h"

#include <numeric>

#include "analysis/series/series_inputs.h"
#include "explorer/models/capture_contents.h"
#include "explorer/models/token_rows.h"
#include "explorer/widgets/controls.h"
#include "explorer/widgets/figure_pane.h"
#include "explorer/widgets/figure_view.h"
#include "explorer/widgets/play_bar.h"
#include "viz/recipes/collapse_figure.h"

namespace lime::explorer {
namespace {

const QString kNoLayer = u"Click a layer to see its spectrum"_s;
constexpr double kBandWidth = 0.24;

}  // namespace

LayerDetail::LayerDetail(const CollapseMeasurements& measurements, const Workspace& workspace)
    : measurements_(measurements),
      workspace_(workspace),
      title_(makeCaption()),
      spectrum_(new FigurePane(u"spectrum of the selected layer"_s)),
      table_(makeTable(extremes_, u"sequences of lowest and highest entropy"_s)) {
  spectrum_->plot().setDescriber([this](const FigureHit& hit) -> QString {
    const Curve* const curve = curveAt(spectrum_->plot().figure(), hit);
    if (curve == nullptr) return {};
    return u"%1: eigenvalue %2 explains %3% of the variance"_s.arg(toQString(curve->label))
        .arg(curve->x[hit.point->index])
        .arg(100.0 * curve->y[hit.point->index], 0, 'g', 3);
  });
  table_->setAlternatingRowColors(true);
  table_->resizeColumnsToContents();
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& index) {
            if (index.isValid()) Q_EMIT sequenceSelected(extremes_.at(index.row()).place);
          });
  title_->setTextInteractionFlags(Qt::LinksAccessibleByMouse | Qt::LinksAccessibleByKeyboard);
  connect(title_, &QLabel::linkActivated, this, &LayerDetail::viewRequested);
  QVBoxLayout* const column = fillWithColumn(*this);
  column->addWidget(title_);
  column->addWidget(makeSplitter(Qt::Horizontal, {spectrum_, table_}, {2000, 3000}), 1);
}

QString LayerDetail::emptyMessage() const {
  if (!measurements_.layer()) return kNoLayer;
  if (measurements_.isMeasuringLayer()) return u"Measuring ..."_s;
  QStringList problems;
  for (const Document* const document : measurements_.captures()) {
    const QString& problem = measurements_.layerOf(*document).problem;
    if (!problem.isEmpty()) problems << problem;
  }
  return problems.isEmpty() ? u"No open capture contains this layer."_s : problems.join(u'\n');
}

void LayerDetail::draw(const std::optional<Extreme>& extreme, int layer_base) {
  const std::optional<int> layer = measurements_.layer();
  title_->clear();  // links get the colour of the palette with a new text
  // The link comes first: it stays at its place whatever is selected.
  title_->setText(u"<a href=\"probes\">probes</a> &nbsp; "_s +
                  (layer ? u"Layer %1: spectrum of all rows, and the sequences of lowest and "
                           u"highest entropy"_s.arg(*layer + layer_base)
                         : u"No layer is selected"_s));
  std::optional<Figure> figure;
  if (const auto panel = spectrumPanel(measurements_, workspace_, extreme)) {
    figure.emplace();
    figure->name = "spectrum";
    figure->panels = {*panel};
    figure->panels.front().title = "layer " + std::to_string(*layer + layer_base);
  }
  spectrum_->show(std::move(figure), emptyMessage());
  listSequences();
  showCurrent(extreme);
}

void LayerDetail::listSequences() {
  std::vector<ExtremeSequence> rows;
  for (const bool is_lowest : {true, false}) {
    for (const Document* const document : measurements_.captures()) {
      const Answer<LayerSpectra>& answer = measurements_.layerOf(*document);
      if (!answer.result) continue;
      for (const SequenceSpectrum& sequence_spectrum :
           is_lowest ? answer.result->lowest : answer.result->highest) {
        rows.push_back({.place = {document->id, is_lowest, sequence_spectrum.sequence},
                        .label = workspace_.uniqueLabel(*document),
                        .entropy = sequence_spectrum.entropy,
                        .ceiling = sequence_spectrum.ceiling,
                        .text = toQString(sequence_spectrum.text)});
      }
    }
  }
  table_->setColumnHidden(ExtremesModel::kModel, measurements_.captures().size() < 2);
  if (rows == extremes_.rows()) return;
  const bool had_none = extremes_.rowCount() == 0;
  const QSignalBlocker quiet(table_->selectionModel());
  extremes_.setRows(std::move(rows));
  if (!had_none || extremes_.rowCount() == 0) return;
  for (int column = 0; column < ExtremesModel::kText; ++column) {
    table_->resizeColumnToContents(column);
  }
}

void LayerDetail::showCurrent(const std::optional<Extreme>& extreme) {
  QModelIndex model_index;
  for (int row = 0; extreme && row < extremes_.rowCount() && !model_index.isValid(); ++row) {
    if (extremes_.at(row).place == *extreme) model_index = extremes_.index(row, 0);
  }
  if (model_index.row() != table_->currentIndex().row()) setCurrentQuietly(*table_, model_index);
}

ExtremesModel::ExtremesModel() {
  using One = const ExtremeSequence&;
  setTable(
      {{u"Capture"_s, [](One row) { return row.label; }},
       {u"Lowest/highest"_s,
        [](One row) { return row.place.is_lowest ? u"lowest"_s : u"highest"_s; }},
       {.title = u"Entropy"_s,
        .text = [](One row) { return QString::number(row.entropy, 'f', 3); },
        .is_number = true,
        .tool_tip = [](One row) { return u"maximum: %1 nats"_s.arg(row.ceiling, 0, 'f', 3); }},
       {u"Of maximum"_s,
        [](One row) { return u"%1%"_s.arg(100.0 * row.entropy / row.ceiling, 0, 'f', 1); }, true},
       {u"Sequence"_s, [](One row) { return QString::number(row.place.sequence); }, true},
       {.title = u"Text"_s,
        .text = [](One row) { return QString(row.text).replace(u'\n', u' '); },
        .tool_tip = [](One row) { return row.text; }}},
      {});
}

CollapseView::CollapseView(const ViewContext& context)
    : View(u"Collapse"_s, context),
      measurements_(context.workspace, context.jobs, context.preferences),
      problems_(makeNote(u"measurement problems"_s)),
      verdicts_(new VerdictList(measurements_, context.workspace)),
      curves_(new FigurePane(u"curves over layers"_s)),
      detail_(new LayerDetail(measurements_, context.workspace)) {
  QVBoxLayout* const column = fillWithColumn(*this);
  column->addWidget(makeControls());
  addSettings();
  column->addWidget(problems_);
  column->addWidget(makeSplitter(Qt::Vertical, {verdicts_, curves_, detail_}, {1700, 2800, 2000}),
                    1);
  panes().add(*curves_);
  curves_->followJobs(jobs(), u"collapse/curves/"_s);
  detail_->spectrum().followJobs(jobs(), u"collapse/layer/"_s);
  panes().add(detail_->spectrum());
  setFirstFocus(&curves_->plot());
  curves_->plot().setDescriber([this](const FigureHit& hit) {
    const QString text =
        describeCurvePoint(curves_->plot().figure(), hit, measure_->currentText().toLower());
    return text.isEmpty() ? text : text + u"; click for its spectrum"_s;
  });
  connect(&curves_->plot(), &FigureView::clicked, this, [this](const FigureHit& hit) {
    selectLayer(static_cast<int>(std::lround(hit.x)) - preferences().layer_base);
  });
  connect(verdicts_, &VerdictList::againstRandomChanged, this, [this] {
    recordChange(u"Compare with random weights"_s);
    measure();
  });
  connect(verdicts_, &VerdictList::rangeSelected, this, &CollapseView::selectRange);
  connect(detail_, &LayerDetail::sequenceSelected, this, &CollapseView::selectSequence);
  connect(detail_, &LayerDetail::viewRequested, this, &CollapseView::viewRequested);
  watchDocuments([this] { onDocumentsChanged(); });
  connect(&workspace(), &Workspace::selectionChanged, this, [this] {
    if (workspace().selection().layer != measurements_.layer()) measure();
  });
  connect(&measurements_, &CollapseMeasurements::curvesChanged, this, &CollapseView::drawCurves);
  connect(&measurements_, &CollapseMeasurements::layerChanged, this, &CollapseView::drawDetail);
  connect(&measurements_, &CollapseMeasurements::verdictsChanged, this, [this] {
    drawCurves();
    drawVerdicts();
  });
  addLayerActions([this](int step) { walkLayers(layers(), step); });
  addRecomputeAction(u"Recompute the measurements, including cancelled and failed ones"_s, [this] {
    measurements_.recompute();
    measure();
  });
  onDocumentsChanged();
}

QWidget* CollapseView::makeControls() {
  auto* const widget = new QWidget;
  BarLayout* const bar = makeBar(*widget);
  measure_ = addChoiceBox(*bar, u"&Measure"_s, u"Measure on the y axis"_s);
  for (const CollapseMeasure& measure : collapseMeasures()) {
    addChoice(*measure_, QString::fromUtf8(measure.title), QString::fromUtf8(measure.name),
              QString::fromUtf8(measure.help));
  }
  show_ = addChoiceBox(*bar, u"Sh&ow"_s, u"Each capture, or its difference to the first"_s);
  addChoice(*show_, u"Values"_s, u"values"_s, u"One curve per capture"_s);
  addChoice(
      *show_, u"Differences"_s, u"differences"_s,
      u"Paired over the sequences, with intervals and stars; the captures need the same text"_s);
  site_ = addChoiceBox(*bar, u"S&ite"_s, u"Site of the activations"_s);
  awaitName(*site_, u"hidden"_s);  // unless a session selects another, as lime-metrics collapse
  sequences_ = addChoiceBox(*bar, u"Se&quences"_s,
                            u"More sequences need more time and give narrower bands"_s);
  sequences_->addItem(u"first 100"_s, 100);
  sequences_->addItem(u"first 1000"_s, 1000);
  sequences_->addItem(u"all"_s, 0);
  bar->addStretch();
  animation_ = new PlayBar(u"training step"_s,
                           u"Emphasise the captures of one training step after another"_s);
  bar->addWidget(animation_);
  connect(animation_, &PlayBar::frameSelected, this, &CollapseView::drawCurves);
  return widget;
}

void CollapseView::addSettings() {
  const auto update = [this] { measure(); };
  addSetting("site", *site_, u"Select a site"_s, update);
  addSetting("measure", *measure_, u"Select a measure"_s, update);
  addSetting("show", *show_, u"Select values or differences"_s, update);
  addSetting(
      "against_random", [this]() -> Json { return verdicts_->againstRandom(); },
      [this](const Json& on) { verdicts_->setAgainstRandom(on.get<bool>()); });
  addSetting("sequences", *sequences_, u"Select the number of sequences"_s, update);
  addSetting(
      "layer",
      [this] {
        const std::optional<int> layer = workspace().selection().layer;
        return layer ? Json(*layer) : Json();
      },
      [this](const Json& layer) {
        setLayer(layer.is_null() ? std::nullopt : std::optional(layer.get<int>()));
      });
  addSetting(
      "extreme",
      [this]() -> Json {
        const Document* const subject = extreme_ ? workspace().find(extreme_->document) : nullptr;
        if (subject == nullptr) return {};
        return {{"capture", subject->path.string()},
                {"lowest", extreme_->is_lowest},
                {"sequence", extreme_->sequence}};
      },
      [this](const Json& extreme) {
        extreme_.reset();
        for (const Document* const document : measurements_.captures()) {
          if (extreme.is_null() || document->path.string() != extreme.at("capture")) continue;
          extreme_ = Extreme{document->id, extreme.at("lowest").get<bool>(),
                             extreme.at("sequence").get<std::int64_t>()};
        }
        drawDetail();
      });
  addSetting(
      "verdicts",
      [this]() -> Json {
        const Document* const owner = workspace().find(marked_);
        return owner == nullptr ? Json() : Json(owner->path.string());
      },
      [this](const Json& path) {
        marked_ = 0;
        for (const Document* const document : measurements_.captures()) {
          if (document->path.string() == path) marked_ = document->id;
        }
        draw();
      });
}

void CollapseView::onDocumentsChanged() {
  QStringList sites;
  for (const Document* const document : measurements_.captures()) {
    for (const std::string& site : representationsOf(*document->capture)) sites << toQString(site);
  }
  setNames(*site_, sites);
  measure();
  draw();
}

void CollapseView::measure() {
  rememberState();
  // A hidden view computes nothing.
  if (!isVisible()) return;
  measurements_.setMaxSequences(sequences_->currentData().toLongLong());
  measurements_.measure(kind(), compares(), site());
  measurements_.measureLayer(site(), workspace().selection().layer);
  measurements_.measureVerdicts(site(), verdicts_->againstRandom());
  draw();
}

void CollapseView::draw() {
  drawCurves();
  drawVerdicts();
  drawDetail();
}

void CollapseView::drawCurves() {
  const int base = preferences().layer_base;
  panes().setStyle(figureStyle());
  FigureOrMessage figure_or_message =
      collapseCurves(measurements_, workspace(), site(), measureName(), compares(), base);
  const QStringList problems = collapseProblems(measurements_, workspace(), kind());
  if (figure_or_message.message.isEmpty()) {
    figure_or_message.message = measurements_.captures().empty()      ? u"No capture is open."_s
                                : measurements_.isMeasuring(kind())   ? u"Measuring ..."_s
                                : figure_or_message.nothing.isEmpty() ? obstacles()
                                                                      : figure_or_message.nothing;
  }
  colours_ = figure_or_message.colours;
  const std::vector<std::int64_t> steps = this->steps();
  animation_->setCount(static_cast<int>(steps.size()) + (steps.empty() ? 0 : 1));
  const int frame = animation_->frame();
  QString caption;
  cliff_.reset();
  if (figure_or_message.figure && !compares()) caption = markVerdicts(*figure_or_message.figure);
  if (figure_or_message.figure && measurements_.isMeasuring(kind())) {
    caption = u"The first sequences; the others are being measured"_s;
  }
  if (frame > 0 && figure_or_message.figure) {
    const std::int64_t step = steps[static_cast<std::size_t>(frame) - 1];
    emphasiseStep(*figure_or_message.figure, step);
    caption = u"Step %1 (%2 of %3)"_s.arg(step).arg(frame).arg(steps.size());
  }
  curves_->show(std::move(figure_or_message.figure), figure_or_message.message, caption);
  FigureView& plot = curves_->plot();
  plot.linkAllPanels(workspace(), u"layer"_s, -base);
  const std::optional<int> layer = workspace().selection().layer;
  plot.markColumn(layer ? std::optional<double>(*layer + base) : std::nullopt, kBandWidth);
  setNote(*problems_, problems);
  Q_EMIT figureChanged();
}

QString CollapseView::obstacle(const Document& document) const {
  const bool is_open = document.capture != nullptr && document.is_shown;
  return is_open ? collapseObstacle(measurements_, document, kind()) : QString();
}

QString CollapseView::obstacles() const {
  QStringList lines;
  for (const Document* const document : measurements_.captures()) {
    const QString reason = obstacle(*document);
    if (reason.isEmpty()) continue;
    lines << u"%1: %2"_s.arg(workspace().uniqueLabel(*document), reason);
  }
  return lines.join(u'\n');
}

void CollapseView::drawVerdicts() {
  const Document* const marked = markedCapture();
  verdicts_->draw(marked == nullptr ? 0 : marked->id, workspace().selection().layer, cliff_,
                  preferences().layer_base);
}

const Document* CollapseView::markedCapture() const {
  const std::vector<const Document*> captures = measurements_.captures();
  const auto found = std::ranges::find(captures, marked_, &Document::id);
  if (found != captures.end()) return *found;
  return captures.empty() ? nullptr : captures.front();
}

QString CollapseView::markVerdicts(Figure& figure) {
  const Document* const marked = markedCapture();
  if (marked == nullptr) return {};
  const std::optional<CollapseVerdicts>& verdicts = measurements_.verdictsOf(*marked).result;
  if (!verdicts || verdicts->ranges.empty()) return {};
  const std::optional<CollapseCliff> cliff = mark_collapse(
      figure, verdicts->results, verdicts->ranges.front().label, site(), preferences().layer_base);
  QString caption = cliff ? toQString(cliff->note) : QString();
  if (!caption.isEmpty()) caption.front() = caption.front().toUpper();
  if (cliff) cliff_ = cliff->layer;
  if (measurements_.captures().size() < 2) return caption;
  const QString ranges = u"Ranges: verdicts on %1"_s.arg(workspace().uniqueLabel(*marked));
  return caption.isEmpty() ? ranges : ranges + u". "_s + caption;
}

std::vector<std::int64_t> CollapseView::steps() const {
  std::set<std::int64_t> steps;
  for (const Document* const document : measurements_.captures()) {
    const QString label = workspace().uniqueLabel(*document);
    if (const auto subject = split_step(label.toStdString())) steps.insert(subject->step);
  }
  if (steps.size() < 2 || compares()) return {};
  return {steps.begin(), steps.end()};
}

void CollapseView::drawDetail() {
  detail_->draw(extreme_, preferences().layer_base);
  Q_EMIT figureChanged();
}

std::set<int> CollapseView::layers() const {
  std::set<int> layers;
  for (const Document* const document : measurements_.captures()) {
    if (!document->capture->has(site())) continue;
    for (const int layer : document->capture->layers(site())) layers.insert(layer);
  }
  return layers;
}

void CollapseView::selectSequence(const Extreme& extreme) {
  const Document* const document = workspace().find(extreme.document);
  if (document == nullptr) return;
  const std::vector<std::int64_t>& offsets = document->capture->offsets();
  const auto at = static_cast<std::size_t>(extreme.sequence);
  std::vector<std::int64_t> rows(static_cast<std::size_t>(offsets[at + 1] - offsets[at]));
  std::iota(rows.begin(), rows.end(), offsets[at]);
  changeState(u"Select a sequence"_s, [&] {
    extreme_ = extreme;
    workspace().selectTokens(tokensAt(*document->capture, rows));
  });
  drawDetail();
}

void CollapseView::selectRange(int document, int first_layer) {
  changeState(u"Select a verdict"_s, [&] {
    marked_ = document;
    setLayer(first_layer);
  });
  draw();
}

QStringList CollapseView::verdictCommand() const {
  QStringList command{"lime-metrics", "collapse"}, labels;
  std::set<Json> checkpoints;
  for (const Document* const document : measurements_.captures()) {
    const std::optional<CollapseVerdicts>& verdicts = measurements_.verdictsOf(*document).result;
    if (!verdicts) continue;
    command << toQString(document->path);
    labels << workspace().uniqueLabel(*document);
    checkpoints.insert(verdicts->results.options.value("checkpoint", Json()));
  }
  if (labels.isEmpty()) return {};
  command << "--label" << labels << "--site" << toQString(site());
  if (measurements_.maxSequences() > 0) {
    command << "--max-sequences" << QString::number(measurements_.maxSequences());
  }
  // A command has one; without it, tokens are ids.
  const Json& checkpoint = *checkpoints.begin();
  if (checkpoints.size() == 1 && checkpoint.is_string() && checkpoint != "") {
    command << "--checkpoint" << toQString(checkpoint.get<std::string>());
  }
  if (verdicts_->againstRandom() && command.contains(u"--checkpoint"_s)) {
    command << "--against-random";
  }
  return {shellLine(command << "-o"
                            << "collapse.json")};
}

QStringList CollapseView::commandLines() const {
  if (curves_->plot().figure() == nullptr) return {};
  const bool is_entropy = kind() == CollapseMeasurements::Kind::kEntropy;
  const QString metric = is_entropy ? u"entropy"_s : u"geometry"_s;
  QStringList measure{"lime-metrics", metric}, labels;
  // Captures that were refused have no curve, and the command would fail.
  for (const Document* const document :
       compares() ? measurements_.captures() : drawnCaptures(measurements_, site(), kind())) {
    measure << toQString(document->path);
    labels << workspace().uniqueLabel(*document);
  }
  measure << "--label" << labels << "--site" << toQString(site());
  if (measurements_.maxSequences() > 0) {
    measure << "--max-sequences" << QString::number(measurements_.maxSequences());
  }
  if (compares()) measure += {"--compare", "first"};
  const QString results = metric + u".json"_s;
  QStringList lines = {shellLine(measure << "-o" << results)};
  // No recipe draws a spectrum, or emphasises a step.
  if (panes().active() != curves_ || animation_->frame() > 0) return lines;
  QStringList draw{"lime-figure", results, "--mixed-texts"};
  if (compares()) draw += {"--kind", "comparison"};
  if (!is_entropy) draw << "--measure" << toQString(measureName());
  lines << shellLine(draw << colours_ << layerBaseOption() << "-o" << metric + u".pdf"_s);
  return compares() ? lines : verdictCommand() + lines;
}

}  // namespace lime::explorer
