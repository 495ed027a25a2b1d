// SPDX-License-Identifier: Apache-2.0
#include "explorer/router/router_panes.h"

#include <QCheckBox>
#include <QSlider>

#include "analysis/router/source_maps.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/parse_model_config.h"
#include "explorer/models/figures.h"
#include "explorer/widgets/controls.h"
#include "explorer/widgets/figure_view.h"
#include "store/capture_reader.h"
#include "viz/recipes/recipe.h"

namespace lime::explorer {
namespace {

constexpr int kThresholdSteps = 100;

QComboBox* checkpointBox(const QString& toolTip) {
  auto* const box = new QComboBox;
  box->setToolTip(toolTip);
  box->setMinimumContentsLength(8);
  box->setMinimumWidth(kLeastBoxWidth);
  box->setMaximumWidth(200);
  box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  return box;
}

/// Weightings of the last items of the weights.
constexpr std::array<std::string_view, 3> kWeightings = {"", "keys", "values"};

/// Selected tokens whose weights are averaged; more are read from the file one by one.
constexpr std::size_t kMostTokens = 1000;

std::optional<ModelConfig> configOf(const Document& document) {
  if (document.checkpoint) return document.checkpoint->config();
  if (document.capture == nullptr) return std::nullopt;
  try {
    return parse_model_config(document.capture->config(), "");
  } catch (const Error&) {
    return std::nullopt;  // only Python knows the model
  }
}

/// Returns the unrolled shares of a plain residual stream, which every part reads as a sum.
MatrixD plainShares(Eigen::Index layers) {
  const Eigen::Index parts = 2 * layers + 1;
  MatrixD shares = MatrixD::Constant(parts, parts, std::numeric_limits<double>::quiet_NaN());
  for (Eigen::Index part = 0; part < parts; ++part) {
    shares.row(part).head(part + 1).setConstant(1.0 / static_cast<double>(part + 1));
  }
  return shares;
}

std::vector<FigureMark> cellMark(const RouterMap& map, int row, int col) {
  const int r = map.rowOf(row);
  const int c = map.colOf(col);
  if (r < 0 || c < 0) return {};
  return {{0, QRectF(c - 0.5, r - 0.5, 1.0, 1.0), true}};
}

}  // namespace

RouterControls::RouterControls()
    : checkpoint_(checkpointBox(
          u"Checkpoint whose routers are shown, or capture of the routing weights of each "
          u"token"_s)),
      other_(
          checkpointBox(u"Subtract the router weights of another checkpoint of the same shape"_s)),
      sign_(new QComboBox),
      normalised_(new QCheckBox(u"&Normalised"_s)),
      sorted_(new QCheckBox(u"&Sorted"_s)),
      threshold_(new QSlider(Qt::Horizontal)),
      animation_(new PlayBar(u"checkpoint of the series"_s,
                             u"Animate the open checkpoints of this shape (Space)"_s)) {
  sign_->addItems({u"magnitude"_s, u"signed"_s, u"times uniform"_s, u"times size of keys"_s,
                   u"times size of values"_s});
  sign_->setWhatsThis(
      u"|R|; R, where negative weights subtract their source; or the fraction of |R| relative to "
      u"1/n, that of a uniform router. |R| depends on the scale of keys and values (see ?); times "
      u"their size, the root mean square of each buffered head in an open capture of the "
      u"checkpoint, it does not"_s);
  normalised_->setChecked(true);
  normalised_->setWhatsThis(
      u"Divide by the sum of |R| over all sources of a layer or head, as in the paper's "
      u"figures"_s);
  sorted_->setWhatsThis(u"Order buffered layers and heads by strength"_s);
  sign_->setMinimumWidth(kLeastBoxWidth);
  threshold_->setRange(0, kThresholdSteps);
  threshold_->setMinimumWidth(70);
  threshold_->setMaximumWidth(120);
  threshold_->setWhatsThis(u"Hide weights below this fraction of the largest one"_s);
  threshold_->setAccessibleName(u"threshold, percent of the largest weight"_s);
  setDisplayEnabled(true);
  QHBoxLayout* const line = makeBar(*this);
  addLabelled(*line, u"&Checkpoint"_s, checkpoint_);
  addLabelled(*line, u"&minus"_s, other_);
  line->addSpacing(8);
  addLabelled(*line, u"&Weights"_s, sign_);
  line->addWidget(normalised_);
  line->addWidget(sorted_);
  addLabelled(*line, u"&Threshold"_s, threshold_);
  line->addStretch();
  line->addWidget(animation_);
  connect(checkpoint_, &QComboBox::activated, this, [this] { Q_EMIT checkpointSelected(); });
  connect(other_, &QComboBox::activated, this, [this] { Q_EMIT otherSelected(); });
  connect(animation_, &PlayBar::frameSelected, this, [this](int at) {
    if (at >= static_cast<int>(series_.size())) return;
    setCheckpoint(series_[static_cast<std::size_t>(at)]);
    Q_EMIT checkpointSelected();
  });
  const auto changes = [this](auto* control, auto signal, const QString& what) {
    connect(control, signal, this, [this, what] { Q_EMIT displayChanged(what); });
  };
  changes(sign_, &QComboBox::activated, u"Magnitude or signed"_s);
  changes(normalised_, &QCheckBox::toggled, u"Normalised or raw"_s);
  changes(sorted_, &QCheckBox::toggled, u"Sort"_s);
  changes(threshold_, &QSlider::valueChanged, u"Move the threshold"_s);
}

void RouterControls::setCheckpoints(const Workspace& workspace) {
  const int wanted = checkpoint();
  const int wanted_other = other();
  const QSignalBlocker quiet(checkpoint_);
  const QSignalBlocker quiet_other(other_);
  checkpoint_->clear();
  other_->clear();
  other_->addItem(u"nothing"_s, 0);
  for (const Document* const document : workspace.documentsOf(DocumentKind::kCheckpoint)) {
    checkpoint_->addItem(document->label, document->id);
    other_->addItem(document->label, document->id);
  }
  for (const Document* const document : workspace.documentsOf(DocumentKind::kCapture)) {
    if (SourcePane::isSource(*document)) checkpoint_->addItem(document->label, document->id);
  }
  selectData(*checkpoint_, wanted);
  selectData(*other_, wanted_other);
  other_->setEnabled(checkpoint_->count() > 1);
}

int RouterControls::checkpoint() const { return checkpoint_->currentData().toInt(); }
int RouterControls::other() const { return other_->currentData().toInt(); }

void RouterControls::setCheckpoint(int id) {
  selectData(*checkpoint_, id);
  const auto at = std::find(series_.begin(), series_.end(), id);
  if (at != series_.end()) animation_->setFrame(static_cast<int>(at - series_.begin()));
}

void RouterControls::setDisplayEnabled(bool enabled) {
  for (QWidget* const control :
       std::initializer_list<QWidget*>{sign_, normalised_, sorted_, threshold_}) {
    control->setEnabled(enabled);
    control->setToolTip(
        enabled ? control->whatsThis()
                : u"Applies to stored router weights only, not to token-dependent ones"_s);
  }
}

void RouterControls::setOther(int id) { selectData(*other_, id); }

RouterDisplay RouterControls::display() const {
  RouterDisplay display;
  display.is_signed = sign_->currentIndex() == 1;
  display.is_uniform = sign_->currentIndex() == 2;
  display.is_normalised = display.is_uniform || normalised_->isChecked();
  display.weighting = kWeightings[static_cast<std::size_t>(std::max(sign_->currentIndex(), 2) - 2)];
  display.is_sorted = sorted_->isChecked();
  display.threshold = static_cast<double>(threshold_->value()) / kThresholdSteps;
  return display;
}

void RouterControls::setDisplay(const RouterDisplay& display) {
  const QSignalBlocker quiet(this);
  const auto weighting = std::ranges::find(kWeightings, display.weighting);
  const bool is_weighted = !display.weighting.empty() && weighting != kWeightings.end();
  sign_->setCurrentIndex(is_weighted         ? 2 + static_cast<int>(weighting - kWeightings.begin())
                         : display.is_signed ? 1
                         : display.is_uniform ? 2
                                              : 0);
  normalised_->setChecked(display.is_normalised);
  sorted_->setChecked(display.is_sorted);
  threshold_->setValue(static_cast<int>(display.threshold * kThresholdSteps + 0.5));
}

void RouterControls::setSeries(const std::vector<int>& ids) {
  series_ = ids;
  animation_->setCount(static_cast<int>(ids.size()));
  setCheckpoint(checkpoint());
}

bool RouterControls::isPlaying() const { return animation_->isPlaying(); }
void RouterControls::setPlaying(bool playing) { animation_->setPlaying(playing); }

void RouterControls::step(int steps) { animation_->step(steps); }

RouterPanes::RouterPanes(Workspace& workspace)
    : workspace_(workspace),
      layers_(new FigurePane(u"mean map of layers"_s)),
      embeddings_(new FigurePane(u"fraction of each layer's weight on the embeddings"_s)),
      heads_(new FigurePane(u"map of the heads of a layer"_s)),
      detail_(new FigurePane(u"weights of heads, or flow into a head"_s)),
      detail_kind_(makeTabs({u"Weights"_s, u"Flow into a head"_s, u"All heads"_s},
                            u"weights, flow, or heads of all layers"_s)) {
  auto* const below = new QWidget;
  QVBoxLayout* const column = fillWithColumn(*below);
  column->addWidget(detail_kind_);
  column->addWidget(detail_, 1);
  QSplitter* const right = makeSplitter(Qt::Vertical, {heads_, below}, {280, 340});
  QSplitter* const left = makeSplitter(Qt::Vertical, {layers_, embeddings_}, {400, 220});
  fillWithColumn(*this)->addWidget(makeSplitter(Qt::Horizontal, {left, right}, {500, 540}));
  for (FigurePane* const pane : {layers_, embeddings_, heads_, detail_}) {
    pane->plot().setKeepsAspect(pane != embeddings_);
    pane->plot().setDescriber([this, pane](const FigureHit& hit) { return describe(pane, hit); });
    connect(&pane->plot(), &FigureView::clicked, this,
            [this, pane](const FigureHit& hit) { click(pane, hit); });
  }
  connect(detail_kind_, &QTabBar::currentChanged, this, &RouterPanes::detailKindChanged);
}

RouterDetail RouterPanes::detailKind() const {
  return static_cast<RouterDetail>(detail_kind_->currentIndex());
}

void RouterPanes::setDetailKind(RouterDetail kind) {
  const QSignalBlocker quiet(detail_kind_);
  detail_kind_->setCurrentIndex(static_cast<int>(kind));
}

void RouterPanes::drawNothing(const QString& message) {
  subject_.reset();
  for (FigurePane* const pane : {layers_, embeddings_, heads_, detail_}) {
    pane->show(std::nullopt, pane == layers_ ? message : QString());
  }
}

void RouterPanes::draw(const RouterSubject& subject, const RouterDisplay& display,
                       const Selection& selection, std::optional<double> largest) {
  subject_ = subject;
  display_ = display;
  selection_ = selection;
  drawLayers(largest);
  drawHeads();
  drawDetail();
  mark();
}

void RouterPanes::select(const Selection& selection) {
  if (!subject_) return;
  const Selection before = std::exchange(selection_, selection);
  if (before.layer != selection.layer) drawHeads();
  if (!hasSameDetail(before, selection)) drawDetail();
  mark();
}

bool RouterPanes::hasSameDetail(const Selection& a, const Selection& b) const {
  switch (detailKind()) {
    case RouterDetail::kWeights: return a.layer == b.layer && a.source_layer == b.source_layer;
    case RouterDetail::kFlow: return a.layer == b.layer && a.head == b.head;
    case RouterDetail::kAllHeads: break;
  }
  return true;
}

void RouterPanes::drawLayers(std::optional<double> largest) {
  const int layers = static_cast<int>(subject_->routers->num_layers());
  layer_map_ = layerMap(*subject_, display_, largest);
  layers_->show(layer_map_.figure, {},
                subject_->minus != nullptr
                    ? u"Difference of router weights from the other checkpoint, per layer"_s
                    : u"Router weights per layer, averaged over heads"_s);
  Figure reads = embeddingsFigure(*subject_, display_);
  colourModels(reads.panels, workspace_);
  embeddings_->show(std::move(reads), {}, u"Fraction of each layer's weight on the embeddings"_s);
  std::vector<AxisLink> links = sourceLinks();
  links.push_back({.axis = Qt::Vertical,
                   .quantity = u"layer"_s,
                   .origin = static_cast<double>(layers - 1),
                   .is_reversed = true});
  layers_->plot().linkAxes(workspace_, links);
}

void RouterPanes::drawHeads() {
  head_map_ = headMap(*subject_, *selection_.layer, display_);
  heads_->show(
      head_map_.figure, {},
      u"Router weights of the heads of layer %1"_s.arg(*selection_.layer + display_.layer_base));
  heads_->plot().linkAxes(workspace_, sourceLinks());
}

std::vector<AxisLink> RouterPanes::sourceLinks() const {
  if (display_.is_sorted) return {};
  return {{.quantity = u"source layer"_s}};
}

void RouterPanes::drawDetail() {
  const int layer = *selection_.layer + display_.layer_base;
  detail_->plot().setKeepsAspect(detailKind() == RouterDetail::kWeights);
  if (detailKind() == RouterDetail::kAllHeads) {
    all_heads_ = headOverview(*subject_, display_);
    detail_->show(
        all_heads_.figure, {},
        u"Router weights of the heads of every layer. Click a cell to select its layer and "
        u"head"_s);
    return;
  }
  if (showsFlow()) {
    flow_ = flowFigure(*subject_->routers, *selection_.layer, *selection_.head, display_);
    detail_->show(flow_.figure, {},
                  u"Flow into head %1 of layer %2, direct and through earlier layers"_s
                      .arg(*selection_.head + display_.layer_base)
                      .arg(layer));
    return;
  }
  block_map_ = blockMap(*subject_, *selection_.layer, *selection_.source_layer, display_);
  detail_->show(block_map_.figure, {},
                u"Signed weights of layer %1 on layer %2"_s.arg(layer).arg(
                    *selection_.source_layer + display_.layer_base));
}

void RouterPanes::mark() {
  layers_->plot().setMarks(cellMark(layer_map_, *selection_.layer, *selection_.source_layer));
  heads_->plot().setMarks(cellMark(head_map_, *selection_.head, *selection_.source_layer));
  if (const int panel = *selection_.layer - all_heads_.first_layer;
      detailKind() == RouterDetail::kAllHeads && panel >= 0) {
    const auto at = static_cast<std::size_t>(panel);
    std::vector<FigureMark> marks =
        cellMark(all_heads_.maps[at], *selection_.head, *selection_.source_layer);
    for (FigureMark& mark : marks) mark.panel = at;
    detail_->plot().setMarks(std::move(marks));
  }
  if (detailKind() != RouterDetail::kWeights) return;
  if (selection_.source_head) {
    detail_->plot().setMarks(cellMark(block_map_, *selection_.head, *selection_.source_head));
  } else if (const int row = block_map_.rowOf(*selection_.head); row >= 0) {
    const double cols = static_cast<double>(block_map_.cols.size());
    detail_->plot().setMarks({{0, QRectF(-0.5, row - 0.5, cols, 1.0), false}});
  }
}

std::optional<std::pair<int, int>> RouterPanes::cellAt(const FigurePane* pane,
                                                       const FigureHit& hit) const {
  const bool is_overview = pane == detail_ && detailKind() == RouterDetail::kAllHeads;
  if (is_overview && hit.panel >= all_heads_.maps.size()) return std::nullopt;
  const RouterMap& map = pane == layers_  ? layer_map_
                         : pane == heads_ ? head_map_
                         : is_overview    ? all_heads_.maps[hit.panel]
                                          : block_map_;
  const auto cell = map.cellAt(hit);
  // No layer reads the layers above it.
  const bool is_above = pane == layers_ && cell && cell->second > cell->first;
  return subject_ && !is_above ? cell : std::nullopt;
}

std::optional<std::pair<int, int>> RouterPanes::nodeAt(const FigureHit& hit) const {
  if (!hit.point || hit.panel != 0) return std::nullopt;
  const auto& curves = std::get<CurvePanel>(flow_.figure.panels[0].content).curves;
  // The last curve has the dots.
  if (hit.point->series + 1 != curves.size()) return std::nullopt;
  return flow_.nodes[hit.point->index];
}

void RouterPanes::click(const FigurePane* pane, const FigureHit& hit) {
  if (pane == detail_ && showsFlow() && subject_) {
    const auto node = nodeAt(hit);
    if (!node) return;
    Q_EMIT selectionRequested(
        {.layer = node->first, .head = node->second, .tokens = selection_.tokens},
        u"Select layer and head"_s);
    return;
  }
  const auto cell = cellAt(pane, hit);
  if (!cell || pane == embeddings_) return;
  Selection selection = selection_;
  if (pane == detail_ && detailKind() == RouterDetail::kWeights) {
    selection.head = cell->first;
    selection.source_head = cell->second;
    Q_EMIT selectionRequested(selection, u"Select a weight"_s);
    return;
  }
  if (pane == detail_) selection.layer = all_heads_.first_layer + static_cast<int>(hit.panel);
  (pane == layers_ ? selection.layer : selection.head) = cell->first;
  selection.source_layer = cell->second;
  selection.source_head.reset();
  Q_EMIT selectionRequested(selection, pane == layers_ ? u"Select a layer"_s : u"Select a head"_s);
}

QString RouterPanes::describeFlow(const FigureHit& hit) const {
  const CheckpointRouters& routers = *subject_->routers;
  if (hit.panel == 1 && hit.cell) {
    const auto& map = std::get<HeatmapPanel>(flow_.figure.panels[1].content);
    return u"indirect: %1 passes through head %2 of layer %3"_s
        .arg(map.values(hit.cell->row, hit.cell->col), 0, 'f', 4)
        .arg(static_cast<int>(routers.num_heads()) - 1 - hit.cell->row + display_.layer_base)
        .arg(hit.cell->col + display_.layer_base);
  }
  const auto node = nodeAt(hit);
  if (!node) return {};
  return describeWeight({&routers, nullptr}, display_, *selection_.layer, *selection_.head,
                        node->first, node->second);
}

QString RouterPanes::describeShare(const FigureHit& hit) const {
  if (!hit.point) return {};
  const int layer = static_cast<int>(hit.point->index) + (subject_->routers->num_layers() > 1);
  return describeSource(*subject_, display_, layer, {}, 0);
}

QString RouterPanes::describe(const FigurePane* pane, const FigureHit& hit) const {
  if (!subject_) return {};
  if (pane == detail_ && showsFlow()) return describeFlow(hit);
  if (pane == embeddings_) return describeShare(hit);
  const auto cell = cellAt(pane, hit);
  if (!cell) return {};
  const auto [row, col] = *cell;
  if (pane == layers_) return describeSource(*subject_, display_, row, {}, col);
  if (pane == heads_) return describeSource(*subject_, display_, *selection_.layer, row, col);
  if (detailKind() == RouterDetail::kAllHeads) {
    const int layer = all_heads_.first_layer + static_cast<int>(hit.panel);
    return describeSource(*subject_, display_, layer, row, col);
  }
  return describeWeight(*subject_, display_, *selection_.layer, row, *selection_.source_layer, col);
}

SourcePane::SourcePane(Workspace& workspace, JobRunner& jobs)
    : FigurePane(u"sources of each input"_s),
      workspace_(workspace),
      rows_(workspace, jobs),
      cache_(jobs) {
  plot().setKeepsAspect(true);
  plot().setDescriber([this](const FigureHit& hit) { return describe(hit); });
  connect(&rows_, &CaptureRows::ready, this, &SourcePane::computed);
  connect(&cache_, &JobCacheSignals::changed, this, &SourcePane::computed);
}

bool SourcePane::isSource(const Document& document, bool with_plain) {
  const std::optional<ModelConfig> config = configOf(document);
  if (!config) return false;
  if (config->routing == DepthRouting::kNone) return with_plain;
  return document.capture && contains(document.capture->sites(), source_site(*config));
}

void SourcePane::draw(const Document& document, int layer_base) {
  const ModelConfig config = *configOf(document);
  layer_base_ = layer_base;
  const bool is_plain = config.routing == DepthRouting::kNone;
  is_depth_ = is_plain || source_site(config) != kRouteSite;
  Key key{document.capture, {}};
  if (!is_plain) key.second = rows_.find(document, workspace_.selection().tokens).rows;
  if (key.second.size() > kMostTokens) key.second.resize(kMostTokens);
  const QSignalBlocker quiet(&cache_);
  cache_.dropIf([&](const Key& one) {
    return one != key && (one.first != key.first || !one.second.empty());
  });
  if (!is_plain) {
    cache_.request(key,
                   {.title = u"Reading the routing weights of %1"_s.arg(document.label),
                    .key = u"sources/%1"_s.arg(document.id),
                    .is_shown = false},
                   [key, config](const JobContext& context) {
                     return source_shares(*key.first, config, key.second, context.stop);
                   });
  }
  const Answer<MatrixD>& answer = cache_.at(key);
  if (!is_plain && !answer.result) {
    show(std::nullopt,
         answer.problem.isEmpty() ? u"Reading the routing weights ..."_s : answer.problem);
    return;
  }
  shares_ = is_plain ? plainShares(config.num_hidden_layers) : *answer.result;
  const std::size_t tokens = key.second.size();
  show(sourcesFigure(shares_, is_depth_, layer_base), {},
       is_plain ? u"A plain transformer: each part reads the sum of all earlier outputs, 1/n each"_s
       : tokens == 0 ? u"Routing weights, averaged over all tokens"_s
       : tokens == 1 ? u"Routing weights of the selected token"_s
                     : u"Routing weights, averaged over %1 selected tokens"_s.arg(tokens),
       is_depth_ ? u"Part 2 l is the attention and 2 l + 1 the MLP of layer l, the last one the "
                   u"final norm. Output 0 is the embedding, 2 l + 1 and 2 l + 2 those of the "
                   u"attention and the MLP of layer l."_s
                 : u"Weights on the keys and values of each layer, averaged over heads"_s);
}

QString SourcePane::nameOf(int part, bool is_source) const {
  if (!is_depth_) return u"layer %1"_s.arg(part + layer_base_);
  if (is_source && part == 0) return u"the embedding"_s;
  const int place = is_source ? part - 1 : part;
  if (!is_source && part + 1 == shares_.rows()) return u"the final norm"_s;
  return (place % 2 == 0 ? u"the attention of layer %1"_s : u"the MLP of layer %1"_s)
      .arg(place / 2 + layer_base_);
}

QString SourcePane::describe(const FigureHit& hit) const {
  if (!hit.cell) return {};
  const int part = static_cast<int>(shares_.rows()) - 1 - hit.cell->row;
  if (part < 0 || hit.cell->col >= shares_.cols()) return {};
  const double share = shares_(part, hit.cell->col);
  if (std::isnan(share)) return {};
  const int sources = numSources(shares_, part);
  return u"%1 reads %2: %3, %4 x uniform (1/%5)"_s
      .arg(nameOf(part, false), nameOf(hit.cell->col, true))
      .arg(share, 0, 'f', 4)
      .arg(share * sources, 0, 'f', 2)
      .arg(sources);
}

}  // namespace lime::explorer
