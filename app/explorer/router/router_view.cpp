// SPDX-License-Identifier: Apache-2.0
#include "explorer/router/router_view.h"

#include <QCollator>

#include "analysis/engine/capture_set.h"
#include "analysis/router/routers.h"
#include "checkpoint/checkpoint.h"
#include "explorer/router/router_controls.h"
#include "explorer/router/router_panes.h"
#include "explorer/router/source_pane.h"
#include "explorer/widgets/controls.h"
#include "explorer/widgets/figure_pane.h"

namespace lime::explorer {
namespace {

/// The names of the parts of the selection in the state.
constexpr std::pair<const char*, std::optional<int> Selection::*> kSelectionNames[] = {
    {"layer", &Selection::layer},
    {"head", &Selection::head},
    {"source_layer", &Selection::source_layer},
    {"source_head", &Selection::source_head}};

/// Likewise of the display.
constexpr std::pair<const char*, bool RouterDisplay::*> kDisplayNames[] = {
    {"signed", &RouterDisplay::is_signed},
    {"normalised", &RouterDisplay::is_normalised},
    {"sorted", &RouterDisplay::is_sorted},
    {"uniform", &RouterDisplay::is_uniform}};

/// Returns the routers of a checkpoint times the root mean square of each buffered head.
/// @throws InvalidArgument  if none of the captures is of the checkpoint
Routers weightedRouters(const Checkpoint& checkpoint, const std::string& site,
                        const std::vector<std::shared_ptr<const CaptureReader>>& captures) {
  for (const auto& capture : captures) {
    try {
      check_same_checkpoint(*capture, checkpoint);
    } catch (const InvalidArgument&) {
      continue;
    }
    Routers routers = routers_of(checkpoint);
    const HeadScales scales = head_scales_of(*capture, site, routers);
    for (MatrixD& weights : routers.weights) {
      for (Eigen::Index source = 0; source < weights.cols(); ++source) {
        weights.col(source) *= scales(source / scales.cols(), source % scales.cols());
      }
    }
    return routers;
  }
  throw InvalidArgument(
      "size of {}: no open capture was made from '{}'; open one with --sites keys,values", site,
      checkpoint.path().string());
}

}  // namespace

RouterLibrary::RouterLibrary(Workspace& workspace, JobRunner& jobs)
    : workspace_(workspace), cache_(jobs) {
  for (const auto signal :
       {&Workspace::documentAdded, &Workspace::documentRemoved, &Workspace::documentChanged}) {
    connect(&workspace_, signal, this, &RouterLibrary::update);
  }
  connect(&cache_, &JobCacheSignals::changed, this, &RouterLibrary::changed);
  update();
}

void RouterLibrary::update() {
  const std::vector<const Document*> open = workspace_.documentsOf(DocumentKind::kCheckpoint);
  cache_.dropIf([&](const Key& key) {
    return std::none_of(open.begin(), open.end(),
                        [&](const Document* document) { return keyOf(*document) == key; });
  });
  for (const Document* const document : open) {
    cache_.request(keyOf(*document),
                   {.title = u"Reading the router of %1"_s.arg(document->label),
                    .key = u"router/%1"_s.arg(document->id),
                    .is_shown = false},
                   [key = keyOf(*document)](const JobContext&) -> Routers {
                     const auto& [checkpoint, site, captures] = key;
                     if (site.empty())
                       return std::make_shared<const CheckpointRouters>(*checkpoint);
                     return std::make_shared<const CheckpointRouters>(
                         weightedRouters(*checkpoint, site, captures));
                   });
  }
}

RouterLibrary::Key RouterLibrary::keyOf(const Document& document) const {
  Captures captures;
  if (!weighting_.empty()) {
    for (const Document* const other : workspace_.documentsOf(DocumentKind::kCapture)) {
      captures.push_back(other->capture);
    }
  }
  return {document.checkpoint, weighting_, std::move(captures)};
}

void RouterLibrary::setWeighting(const std::string& site) {
  if (site == weighting_) return;
  weighting_ = site;
  update();
}

const Answer<RouterLibrary::Routers>& RouterLibrary::find(int id) const {
  const Document* const document = workspace_.find(id);
  return cache_.at(document == nullptr ? Key() : keyOf(*document));
}

const CheckpointRouters* RouterLibrary::routersOf(int id) const {
  return find(id).result.value_or(nullptr).get();
}

std::vector<int> RouterLibrary::seriesOf(int id) const {
  const CheckpointRouters* const routers = routersOf(id);
  if (routers == nullptr) return {};
  std::vector<const Document*> documents = workspace_.documentsOf(DocumentKind::kCheckpoint);
  std::erase_if(documents, [&](const Document* document) {
    const CheckpointRouters* const other = routersOf(document->id);
    return other == nullptr || !other->has_shape_of(*routers) ||
           other->is_routed() != routers->is_routed();
  });
  QCollator byNumber(QLocale::English);  // "step-2" before "step-10"
  byNumber.setNumericMode(true);
  std::ranges::stable_sort(documents, byNumber, &Document::label);
  std::vector<int> ids;
  for (const Document* const document : documents) ids.push_back(document->id);
  return ids;
}

RouterView::RouterView(const ViewContext& context)
    : View(u"Router"_s, context),
      library_(context.workspace, context.jobs),
      controls_(new RouterControls),
      maps_(new RouterPanes(context.workspace)),
      sources_(new SourcePane(context.workspace, context.jobs)) {
  QVBoxLayout* const column = fillWithColumn(*this);
  column->addWidget(controls_);
  column->addWidget(maps_, 1);
  column->addWidget(sources_, 1);
  sources_->hide();
  setFirstFocus(&maps_->layers().plot());
  for (FigurePane* const pane : {&maps_->layers(), &maps_->embeddings(), &maps_->heads(),
                                 &maps_->detail(), static_cast<FigurePane*>(sources_)}) {
    panes().add(*pane);
  }
  connectAll();
  listCheckpoints();
}

bool RouterView::hasRouters(const Document& document) {
  if (document.checkpoint) return !SourcePane::isPlain(document);
  return SourcePane::isSource(document, false);
}

void RouterView::connectAll() {
  connect(controls_, &RouterControls::checkpointSelected, this, [this] {
    // The frames of an animation follow each other so soon that they are one step.
    recordChange(controls_->isPlaying() ? u"Play the animation"_s : u"Select a checkpoint"_s);
    showCheckpoint(controls_->checkpoint());
    draw();
  });
  const auto on = [this](const QString& text) {
    recordChange(text);
    library_.setWeighting(controls_->display().weighting);
    draw();
  };
  connect(controls_, &RouterControls::otherSelected, this,
          [on] { on(u"Select the checkpoint to compare with"_s); });
  connect(controls_, &RouterControls::displayChanged, this, on);
  connect(maps_, &RouterPanes::detailKindChanged, this, [on] { on(u"Weights or flow"_s); });
  connect(maps_, &RouterPanes::selectionRequested, this,
          [this](const Selection& selection, const QString& text) { select(text, selection); });
  connect(sources_, &SourcePane::computed, this, &RouterView::draw);
  connect(&library_, &RouterLibrary::changed, this, &RouterView::listCheckpoints);
  connect(&workspace(), &Workspace::documentAdded, this, &RouterView::listCheckpoints);
  connect(&workspace(), &Workspace::documentRemoved, this, &RouterView::listCheckpoints);
  connect(&workspace(), &Workspace::currentChanged, this, [this](int id) {
    const Document* const document = workspace().find(id);
    if (document == nullptr || controls_->checkpoint() == id) return;
    if (!document->checkpoint && !SourcePane::isSource(*document, false)) return;
    showCheckpoint(id);
    draw();
  });
  connect(&workspace(), &Workspace::documentChanged, this, &RouterView::draw);
  connect(&workspace(), &Workspace::selectionChanged, this, &RouterView::followSelection);
}

void RouterView::listCheckpoints() {
  controls_->setCheckpoints(workspace());
  controls_->setSeries(library_.seriesOf(controls_->checkpoint()));
  draw();
}

void RouterView::showCheckpoint(int id) {
  workspace().setCurrent(id);
  controls_->setCheckpoint(id);
  controls_->setSeries(library_.seriesOf(id));
}

RouterDisplay RouterView::display() const {
  RouterDisplay display = controls_->display();
  display.layer_base = preferences().layer_base;
  return display;
}

const Document* RouterView::source() const {
  const Document* const document = workspace().find(controls_->checkpoint());
  const bool is_source = document != nullptr && SourcePane::isSource(*document);
  // A plain transformer has no router, but another checkpoint's can be subtracted from identities.
  return is_source && (document->capture || controls_->other() == 0) ? document : nullptr;
}

std::optional<RouterSubject> RouterView::subject() const {
  RouterSubject subject{library_.routersOf(controls_->checkpoint())};
  if (subject.routers == nullptr) return std::nullopt;
  subject.name = workspace().uniqueLabel(*workspace().find(controls_->checkpoint())).toStdString();
  const CheckpointRouters* const other = library_.routersOf(controls_->other());
  if (other != nullptr && other->has_shape_of(*subject.routers)) {
    subject.minus = other;
    subject.other_name =
        workspace().uniqueLabel(*workspace().find(controls_->other())).toStdString();
  }
  // Its sizes may be missing, or not be known yet.
  if (other == nullptr && controls_->other() != 0 && !display().weighting.empty()) return {};
  return subject;
}

QString RouterView::emptyMessage() const {
  const Document* const document = workspace().find(controls_->checkpoint());
  if (document == nullptr) return u"No checkpoint is open."_s;
  for (const int id : {document->id, controls_->other()}) {
    if (!library_.find(id).problem.isEmpty()) return library_.find(id).problem;
  }
  return u"Reading the routers ..."_s;
}

Selection RouterView::selected() const {
  const std::optional<RouterSubject> shown = subject();
  return shown ? completed(workspace().selection(), *shown->routers) : Selection{};
}

std::optional<double> RouterView::largestOfSeries() const {
  // An animation needs one scale for all its frames.
  const std::vector<int> series = library_.seriesOf(controls_->checkpoint());
  if (series.size() < 2 || controls_->other() != 0) return std::nullopt;
  double largest = 0.0;
  for (const int id : series) {
    const MatrixD& values = library_.routersOf(id)->layer_values(display().quantity());
    // The first layer, which reads itself alone, is not shown.
    for (Eigen::Index l = values.rows() > 1 ? 1 : 0; l < values.rows(); ++l) {
      const double scale = display().is_uniform ? static_cast<double>(l + 1) : 1.0;
      largest = std::max(largest, scale * values.row(l).head(l + 1).cwiseAbs().maxCoeff());
    }
  }
  return largest;
}

void RouterView::draw() {
  panes().setStyle(figureStyle());
  const Document* const shares = source();
  maps_->setVisible(shares == nullptr);
  sources_->setVisible(shares != nullptr);
  controls_->setDisplayEnabled(shares == nullptr);
  if (shares != nullptr) {
    panes().activate(sources_);
    sources_->draw(*shares, preferences().layer_base);
  } else if (panes().active() == sources_) {
    panes().activate(&maps_->layers());
  }
  if (const std::optional<RouterSubject> shown = subject()) {
    maps_->draw(*shown, display(), selected(), largestOfSeries());
  } else {
    maps_->drawNothing(emptyMessage());
  }
  rememberState();
  Q_EMIT figureChanged();
}

void RouterView::followSelection() {
  if (is_setting_) return;
  if (source() != nullptr || !subject()) {
    draw();
    return;
  }
  maps_->select(selected());
  Q_EMIT figureChanged();
}

void RouterView::walk(int layers, int heads, int sources) {
  const std::optional<RouterSubject> shown = subject();
  if (!shown) return;
  Selection selection = selected();
  const int last_layer = static_cast<int>(shown->routers->num_layers()) - 1;
  const int last_head = static_cast<int>(shown->routers->num_heads()) - 1;
  selection.layer = std::clamp(*selection.layer + layers, 0, last_layer);
  selection.head = std::clamp(*selection.head + heads, 0, last_head);
  selection.source_layer = std::clamp(*selection.source_layer + sources, 0, *selection.layer);
  select(u"Move the selection"_s, selection);
  Q_EMIT status(describeSource(*shown, display(), *selection.layer, *selection.head,
                               *selection.source_layer));
}

void RouterView::keyPressEvent(QKeyEvent* event) {
  const QPointF direction = arrowDirection(*event);
  const int across = static_cast<int>(direction.x());
  const bool shift = event->modifiers().testFlag(Qt::ShiftModifier);
  if (!direction.isNull()) {
    // The first layer is at the top of the heatmap.
    walk(static_cast<int>(direction.y()), shift ? 0 : across, shift ? across : 0);
  } else if (event->key() == Qt::Key_Space) {
    controls_->setPlaying(!controls_->isPlaying());
  } else if (event->key() == Qt::Key_PageUp || event->key() == Qt::Key_PageDown) {
    controls_->step(event->key() == Qt::Key_PageUp ? -1 : 1);
  } else {
    View::keyPressEvent(event);
  }
}

std::vector<Shortcut> RouterView::shortcuts() const {
  return {{u"Previous layer, next layer"_s, u"Up, Down"_s},
          {u"Previous head, next head"_s, u"Left, Right"_s},
          {u"Previous buffered layer, next buffered layer"_s, u"Shift+Left, Shift+Right"_s},
          {u"Previous checkpoint of the series, next checkpoint"_s, u"Page Up, Page Down"_s},
          {u"Play the series"_s, u"Space"_s}};
}

void RouterView::showAll() {
  if (panes().active() != nullptr) panes().active()->plot().showAll();
}

QStringList RouterView::commandLines() const {
  const Document* const document = workspace().find(controls_->checkpoint());
  const std::optional<RouterSubject> shown = subject();
  if (document == nullptr || !shown || source() != nullptr) return {};
  if (!display().weighting.empty()) return {};  // no recipe draws one weighting alone
  QStringList lines = {shellLine({"lime-metrics", "router", toQString(document->path), "--detail",
                                  "weights", "-o", "router.json"})};
  const bool is_layers = panes().active() == &maps_->layers();
  const RouterDisplay now = display();
  // Recipes draw fractions of |R| of one checkpoint, all of them, in the order of the layers.
  const bool is_overview =
      panes().active() == &maps_->detail() && maps_->detailKind() == RouterDetail::kAllHeads;
  const bool has_recipe = (is_layers || is_overview || panes().active() == &maps_->heads()) &&
                          shown->minus == nullptr && !now.is_signed && now.is_normalised &&
                          !now.is_sorted && !now.is_uniform && now.threshold == 0.0;
  if (!has_recipe) return lines;
  const QString kind = is_layers ? u"router-mean"_s : u"router-heads"_s;
  QStringList draw{"lime-figure", "router.json", "--kind", kind};
  if (!is_layers && !is_overview)
    draw << "--layer" << QString::number(*selected().layer + now.layer_base);
  return lines << shellLine(draw << layerBaseOption() << "-o" << kind + u".pdf"_s);
}

Json RouterView::state() const {
  const Selection& selection = workspace().selection();
  const RouterDisplay shown = controls_->display();
  const auto path = [this](int id) {
    const Document* const document = workspace().find(id);
    return document == nullptr ? std::string() : document->path.string();
  };
  Json state = {{"checkpoint", path(controls_->checkpoint())},
                {"minus", path(controls_->other())},
                {"weighting", shown.weighting},
                {"threshold", shown.threshold},
                {"detail", static_cast<int>(maps_->detailKind())}};
  for (const auto& [name, part] : kDisplayNames) state[name] = shown.*part;
  for (const auto& [name, part] : kSelectionNames) {
    if (selection.*part) state[name] = *(selection.*part);
  }
  return state;
}

void RouterView::setCheckpoints(const Json& state) {
  if (const auto* const shown = workspace().documentAt(state.value("checkpoint", std::string()))) {
    if (shown->id != controls_->checkpoint()) showCheckpoint(shown->id);
  }
  if (!state.contains("minus")) return;
  const Document* const other = workspace().documentAt(state.at("minus").get<std::string>());
  controls_->setOther(other == nullptr ? 0 : other->id);
}

void RouterView::setState(const Json& state) {
  is_setting_ = true;
  setCheckpoints(state);
  RouterDisplay shown = controls_->display();
  for (const auto& [name, part] : kDisplayNames) shown.*part = state.value(name, shown.*part);
  shown.threshold = state.value("threshold", shown.threshold);
  shown.weighting = state.value("weighting", shown.weighting);
  controls_->setDisplay(shown);
  library_.setWeighting(controls_->display().weighting);
  maps_->setDetailKind(static_cast<RouterDetail>(std::clamp(state.value("detail", 0), 0, 2)));
  Selection selection = workspace().selection();
  for (const auto& [name, part] : kSelectionNames) {
    if (state.contains(name)) selection.*part = state.at(name).get<int>();
  }
  workspace().setSelection(selection);
  is_setting_ = false;
  draw();
}

}  // namespace lime::explorer
