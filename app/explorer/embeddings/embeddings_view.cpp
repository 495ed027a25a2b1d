// SPDX-License-Identifier: Apache-2.0
#include "explorer/embeddings/embeddings_view.h"

#include <QAction>
#include <QGuiApplication>
#include <QPushButton>

#include "explorer/embeddings/embedding_canvas.h"
#include "explorer/embeddings/embeddings_figure.h"
#include "explorer/embeddings/selected_token.h"
#include "explorer/models/document.h"
#include "explorer/widgets/controls.h"
#include "viz/figure_source.h"

namespace lime::explorer {
namespace {

const QString kNothing =
    u"No embeddings are loaded.\n\nOpen results of lime-metrics tsne (NAME.json beside "
    u"NAME.embeddings.h5), or open captures and press Compute."_s;

}  // namespace

EmbeddingsView::EmbeddingsView(const ViewContext& context)
    : View(u"Embeddings"_s, context),
      loader_(context.workspace, context.jobs),
      layers_(new LayerSlider),
      problems_(makeNote(u"loading problems"_s)),
      legend_(makeNote(u"colours"_s)),
      canvases_(new EmbeddingCanvases),
      list_(new TokenList),
      neighbours_(*canvases_, *list_, context.jobs) {
  legend_->setTextFormat(Qt::RichText);
  legend_->setTextInteractionFlags(Qt::LinksAccessibleByMouse | Qt::LinksAccessibleByKeyboard);
  connect(legend_, &QLabel::linkActivated, this,
          [this](const QString& group) { selectGroup(group.toInt()); });
  canvases_->setMessage(kNothing);
  QVBoxLayout* const column = fillWithColumn(*this);
  column->addWidget(makeControls());
  addSettings();
  column->addWidget(problems_);
  column->addWidget(legend_);
  column->addWidget(makeSplitter(Qt::Vertical, {canvases_, list_}, {3000, 1000}), 1);
  connectAll();
  addActions();
  listSources();
}

QWidget* EmbeddingsView::makeControls() {
  auto* const widget = new QWidget;
  auto* const first = new QWidget;
  BarLayout* const bar = makeBar(*first);
  source_ = addChoiceBox(*bar, u"&Embeddings"_s, u"Results of lime-metrics tsne"_s);
  compute_ = new QPushButton(u"Co&mpute"_s);
  compute_->setToolTip(u"Embed 2000 rows of each shown capture, layer by layer"_s);
  method_ = addChoiceBox(*bar, {}, u"What Compute computes"_s);
  method_->setAccessibleName(u"Method"_s);
  addChoice(*method_, u"t-SNE"_s, u"tsne"_s, u"van der Maaten & Hinton 2008"_s);
  addChoice(*method_, u"PCA"_s, QString::fromLatin1(kPca), u"The first two principal components"_s);
  bar->addWidget(compute_);
  site_ = addChoiceBox(*bar, u"S&ite"_s, u"Site of the activations"_s);
  colour_ = addChoiceBox(*bar, u"Co&lour"_s, u"Quantity shown by the colours"_s);
  for (const std::string& name : enum_names<EmbeddingColour>()) {
    colour_->addItem(toQString(name), toQString(name));
  }
  search_ = makeSearch(u"find a token"_s, u"Select the points of a token"_s);
  bar->addStretch();
  auto* const second = new QHBoxLayout;
  second->setContentsMargins(12, 0, 12, 8);
  second->addWidget(layers_, 1);
  second->addWidget(search_);
  QVBoxLayout* const rows = fillWithColumn(*widget);
  rows->addWidget(first);
  rows->addLayout(second);
  connect(search_, &QLineEdit::textEdited, this, [this](const QString& text) {
    if (canvases().empty()) return;
    const std::size_t model = canvases_->active(list_->model());
    select(model, set().models[model].pointsOfToken(text), {});
  });
  connect(compute_, &QPushButton::clicked, this, &EmbeddingsView::compute);
  return widget;
}

void EmbeddingsView::addSettings() {
  addSetting("method", *method_, u"Select t-SNE or PCA"_s, [this] {
    if (loader_.source() == EmbeddingLoader::kComputed) compute();
  });
  addSetting("source", *source_, u"Select embeddings"_s, [this] { loadSource(); });
  addSetting("site", *site_, u"Select a site"_s, [this] { showSite(); });
  addSetting("colour", *colour_, u"Select colours"_s, [this] {
    is_colour_selected_ = true;
    colourPoints();
  });
  addSetting(
      "layer",
      [this] {
        const std::vector<int>& layers = layers_->layers();
        if (const std::optional<int> layer = workspace().selection().layer) return Json(*layer);
        return layers.empty() ? Json() : Json(layers.front());
      },
      [this](const Json& layer) {
        if (layer.is_number()) setLayer(layer.get<int>());
      });
  addSetting(
      "neighbours", [this] { return neighbours_.state(); },
      [this](const Json& state) { neighbours_.setState(state); });
}

void EmbeddingsView::connectAll() {
  watchDocuments([this] { listSources(); });
  connect(&loader_, &EmbeddingLoader::changed, this, &EmbeddingsView::showSet);
  connect(layers_, &LayerSlider::moved, this, &EmbeddingsView::placePoints);
  connect(layers_, &LayerSlider::playRequested, this, &EmbeddingsView::play);
  connect(layers_, &LayerSlider::layerSelected, this, [this](int layer) { selectLayer(layer); });
  connect(layers_, &LayerSlider::released, this,
          [this](int layer) { changeState(u"Select a layer"_s, [&] { goToLayer(layer); }); });
  connect(canvases_, &EmbeddingCanvases::hovered, this, &EmbeddingsView::describe);
  connect(canvases_, &EmbeddingCanvases::lassoed, this, &EmbeddingsView::select);
  connect(canvases_, &EmbeddingCanvases::windowChanged, this, &EmbeddingsView::recordWindow);
  connect(canvases_, &EmbeddingCanvases::clicked, this, [this](std::size_t model, int point) {
    if (point < 0) {
      select(model, {}, {});
    } else {
      selectNeighbours(model, point);
    }
  });
  connect(list_, &TokenList::neighboursRequested, this, &EmbeddingsView::selectNeighbours);
  connect(&workspace(), &Workspace::selectionChanged, this, [this](const Selection& selection) {
    const bool is_new = selection.layer != last_layer_;
    last_layer_ = selection.layer;
    if (is_new && selection.layer && *selection.layer != layers_->current()) {
      layers_->moveTo(*selection.layer);
    }
    showSelection();
    rememberState();
  });
}

void EmbeddingsView::addActions() {
  addLayerActions([this](int step) {
    if (layers_->layers().empty()) return;
    // From the end of an animation, so that key presses that follow each other add up.
    const int from = workspace().selection().layer.value_or(layers_->current());
    changeState(u"Select a layer"_s, [&] { goToLayer(layers_->neighbour(from, step)); });
  });
  addViewAction(u"Play through layers"_s, {QKeySequence(Qt::Key_P)},
                u"Animate the points from the first layer to the last"_s, [this] { play(); });
  addViewAction(u"Select all visible points"_s, {QKeySequence::SelectAll},
                u"Select the tokens of all points in the visible part of the embedding: zoom with "
                u"Ctrl++, move with Ctrl+Arrows"_s,
                [this] {
                  if (canvases().empty()) return;
                  const std::size_t model = canvases_->active(list_->model());
                  select(model, canvases()[model]->visiblePoints(), {});
                });
  addViewAction(u"Clear selection"_s,
                {QKeySequence(Qt::Key_Escape), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_A)},
                u"Clear the token selection"_s, [this] { select(0, {}, {}); });
  addPointActions();
}

void EmbeddingsView::addPointActions() {
  const auto atCursor = [this](auto action) {
    return [this, action] {
      if (canvases().empty()) return;
      const std::size_t model = canvases_->active(list_->model());
      action(model, canvases()[model]->cursor());
    };
  };
  // Only where a canvas has the focus: buttons and lists use these keys, too.
  for (QAction *const action :
       {addViewAction(u"Toggle the marked point"_s, {QKeySequence(Qt::Key_Space)},
                      u"Add the marked point to the selection, or remove it"_s,
                      atCursor([this](std::size_t model, int point) {
                        toggle(model, point);
                        describe(model, point);
                      })),
        addViewAction(
            u"Neighbours of the marked point"_s,
            {QKeySequence(Qt::Key_Return), QKeySequence(Qt::Key_Enter)},
            u"List the tokens nearest to the marked point"_s,
            atCursor([this](std::size_t model, int point) { selectNeighbours(model, point); }))}) {
    action->setShortcutContext(Qt::WidgetShortcut);
    canvases_->addAction(action);
  }
}

void EmbeddingsView::listSources() {
  const QSignalBlocker quiet(source_);
  const QVariant requested = source_->currentData();
  source_->clear();
  for (const Document* const document : workspace().documentsOf(DocumentKind::kResults)) {
    if (document->results->results.metric != "tsne") continue;
    source_->addItem(document->label, toQString(document->path));
  }
  const bool is_computed = loader_.source() == EmbeddingLoader::kComputed;
  if (is_computed) source_->addItem(u"computed in this window"_s, QString());
  selectData(*source_, requested);
  updateCompute();
  const bool is_stored =
      source_->count() == 0 && !is_computed && !loader_.isBusy() && loader_.hasCache(tsneOptions());
  if (isVisible() && (is_stored || (is_computed && loader_.isOutdated()))) {
    compute();
  } else if (sourceId() != loader_.source() || loader_.isOutdated()) {
    loadSource();
  }
  rememberState();
}

int EmbeddingsView::sourceId() const {
  if (source_->count() == 0) return 0;
  const std::filesystem::path path = selectedName(*source_);
  if (path.empty()) return EmbeddingLoader::kComputed;
  return std::ranges::find(workspace().documents(), path, &Document::path)->id;
}

void EmbeddingsView::loadSource() {
  const int id = sourceId();
  if (id != EmbeddingLoader::kComputed && isVisible()) loader_.load(id);
}

void EmbeddingsView::updateCompute() {
  compute_->setEnabled(!loader_.isBusy() &&
                       !workspace().documentsOf(DocumentKind::kCapture).empty());
}

void EmbeddingsView::showSet() {
  canvases_->setMessage(loader_.message().isEmpty() ? kNothing : loader_.message());
  updateCompute();
  if (loader_.isBusy() && !loader_.isPartial()) return;
  setNote(*problems_, set().warnings(preferences().layer_base));
  QStringList sites;
  for (const std::string& site : set().sites()) sites << toQString(site);
  setNames(*site_, sites);
  const bool is_computed = loader_.source() == EmbeddingLoader::kComputed;
  if (is_computed && source_->findData(QString()) < 0) {
    listSources();
    selectData(*source_, QString());
  }
  const bool continues = std::exchange(shows_partial_, loader_.isPartial());
  if (!continues || !canvases_->updateSet(site())) {
    if (!is_colour_selected_) selectData(*colour_, toQString(enum_name(usualColour(set()))));
    showSite();
    return;
  }
  layers_->updateLayers(set().layers(site()));
  placePoints();
}

void EmbeddingsView::showSite() {
  canvases_->setSet(set(), site());
  layers_->setLayers(set().layers(site()), preferences().layer_base);
  if (const std::optional<int> layer = workspace().selection().layer) layers_->jumpTo(*layer);
  setFirstFocus(canvases().empty() ? static_cast<QWidget*>(compute_) : canvases().front());
  colourPoints();
  placePoints();
  showSelection();
  showNeighbours();
  rememberState();
}

void EmbeddingsView::placePoints() {
  if (!canvases().empty()) {
    canvases_->placePoints(layers_->layers(), layers_->position(),
                           layers_->current() + preferences().layer_base);
  }
  Q_EMIT figureChanged();
}

void EmbeddingsView::colourPoints() {
  groups_ = groupsOf(set(), colour());
  const QString legend = canvases_->colourPoints(groups_, colour_->currentText());
  legend_->setText(legend);
  legend_->setVisible(!legend.isEmpty());
  Q_EMIT figureChanged();
}

EmbeddingColour EmbeddingsView::colour() const {
  return find_enum<EmbeddingColour>(selectedName(*colour_)).value_or(EmbeddingColour::kClass);
}

void EmbeddingsView::goToLayer(int layer) {
  if (layers_->moveTo(layer)) setLayer(layer);
}

void EmbeddingsView::play() {
  if (layers_->layers().empty()) return;
  if (layers_->isPlaying()) return layers_->play();
  changeState(u"Play through layers"_s, [this] {
    goToLayer(layers_->layers().back());
    layers_->play();
  });
}

void EmbeddingsView::recordWindow(std::size_t model, const QString& what,
                                  const EmbeddingWindow& before) {
  const auto show = [this, model](const EmbeddingWindow& window) {
    // The embeddings may be others now.
    if (model < canvases().size()) canvases()[model]->setWindow(window);
  };
  recordPart(
      what, u"embedding %1"_s.arg(model), [show, before] { show(before); },
      [show, after = canvases()[model]->window()] { show(after); });
}

void EmbeddingsView::select(std::size_t model, const std::vector<int>& points,
                            Qt::KeyboardModifiers modifiers) {
  if (model >= set().models.size()) return;
  list_->setModel(model);
  const bool adds = (modifiers & (Qt::ControlModifier | Qt::ShiftModifier)) != 0;
  const TokenSelection& now = workspace().selection().tokens;
  TokenSelection tokens = set().models[model].tokensAt(points);
  if (adds && now.text == tokens.text) {
    // Tokens without a point here stay selected, too.
    std::vector<TokenPlace> all;
    std::set_union(tokens.places.begin(), tokens.places.end(), now.places.begin(), now.places.end(),
                   std::back_inserter(all));
    tokens.places = std::move(all);
  }
  selectTokens(std::move(tokens));
}

void EmbeddingsView::selectGroup(int group) {
  for (std::size_t model = 0; model < groups_.group.size(); ++model) {
    const std::vector<int> points = groups_.pointsOf(model, group);
    if (points.empty()) continue;
    select(model, points, QGuiApplication::keyboardModifiers());
    return;
  }
}

void EmbeddingsView::toggle(std::size_t model, int point) {
  if (model >= set().models.size() || point < 0) return;
  const std::vector<int>& selected = canvases()[model]->selected();
  if (!std::binary_search(selected.begin(), selected.end(), point)) {
    select(model, {point}, Qt::ControlModifier);
    return;
  }
  list_->setModel(model);
  TokenSelection tokens = workspace().selection().tokens;
  // A mean may represent several tokens.
  std::erase_if(tokens.places, [&](const TokenPlace& place) {
    return set().models[model].pointsOf({tokens.text, {place}}) == std::vector<int>{point};
  });
  selectTokens(std::move(tokens));
}

void EmbeddingsView::selectTokens(TokenSelection tokens) {
  if (tokens.empty()) tokens = {};
  changeState(u"Select tokens"_s, [&] {
    neighbours_.clear();
    workspace().selectTokens(std::move(tokens));
  });
  canvases_->removeCentre();
  showSelection();
}

void EmbeddingsView::showSelection() {
  canvases_->select(workspace().selection().tokens);
  if (neighbours_.isEmpty()) list_->showSelection(set(), workspace().selection().tokens);
}

void EmbeddingsView::selectNeighbours(std::size_t model, int point) {
  if (model >= set().models.size() || point < 0) return;
  changeState(u"Show neighbours"_s, [&] {
    neighbours_.select(set().models[model].label, set().models[model].tokensAt({point}));
  });
  showNeighbours();
}

void EmbeddingsView::showNeighbours() {
  const bool is_shown = neighbours_.show(set(), site(), layers_->current());
  if (!is_shown && !neighbours_.isEmpty()) {
    list_->showSelection(set(), workspace().selection().tokens);
  }
}

void EmbeddingsView::describe(std::size_t model, int point) {
  if (point < 0 || model >= set().models.size()) {
    Q_EMIT status({});
    return;
  }
  const SelectedToken token = set().models[model].describe(point);
  const QString text = u"%1%2  sequence %3, position %4: %5"_s.arg(token.token)
                           .arg(token.note.isEmpty() ? QString() : u" (%1)"_s.arg(token.note))
                           .arg(token.sequence)
                           .arg(token.position)
                           .arg(token.sentence.text());
  EmbeddingCanvas& canvas = *canvases()[model];
  const bool is_selected =
      std::binary_search(canvas.selected().begin(), canvas.selected().end(), point);
  // Screen readers announce the marker by this.
  canvas.setAccessibleDescription(is_selected ? u"selected: "_s + text : text);
  Q_EMIT status(text);
}

std::optional<Figure> EmbeddingsView::figure() const {
  if (layers_->layers().empty()) return std::nullopt;
  Figure figure =
      embeddingsFigure(set(), groups_, site(), layers_->current(), preferences().layer_base);
  return figure.panels.empty() ? std::nullopt : std::optional(std::move(figure));
}

QStringList EmbeddingsView::commandLines() const {
  if (layers_->layers().empty()) return {};
  QStringList lines;
  QString results = u"embeddings.json"_s;
  if (const Document* const document = workspace().find(loader_.source())) {
    results = toQString(document->path);
  } else {
    QStringList measure{"lime-metrics", "tsne"};
    for (const Document* const capture : workspace().documentsOf(DocumentKind::kCapture)) {
      measure << toQString(capture->path);
    }
    lines << shellLine(
        measure << "--site" << toQString(site()) << QStringList{"--max-points", "2000"}
                << (isPca() ? QStringList{"--iterations", "0"} : QStringList{"--align"}) << "-o"
                << results);
  }
  // The recipe colours points by their classes.
  if (colour() != EmbeddingColour::kClass) return lines;
  const int layer = layers_->current() + preferences().layer_base;
  return lines << shellLine(QStringList{"lime-figure", results, "--site", toQString(site()),
                                        "--layer", QString::number(layer)}
                            << layerBaseOption() << QStringList{"-o", "embeddings.pdf"});
}

std::vector<Shortcut> EmbeddingsView::shortcuts() const {
  return {{u"Move from point to point"_s, u"Arrows"_s},
          {u"Move and select points"_s, u"Shift+Arrows"_s},
          {u"Neighbours of a point or of a listed token"_s, u"Click, double click"_s},
          {u"Select points, add points"_s, u"Drag, Ctrl+Drag"_s}};
}

void EmbeddingsView::restored() {
  is_colour_selected_ = is_colour_selected_ || colour() != EmbeddingColour::kClass;
  if (sourceId() != loader_.source()) loadSource();
  if (site() != canvases_->site()) {
    showSite();
    return;
  }
  // The same embeddings keep their windows.
  if (const std::optional<int> layer = workspace().selection().layer) layers_->jumpTo(*layer);
  colourPoints();
  placePoints();
  showSelection();
  showNeighbours();
  rememberState();
}

void EmbeddingsView::zoom(double factor) {
  for (EmbeddingCanvas* const canvas : canvases()) canvas->zoom(factor);
}

void EmbeddingsView::showAll() {
  for (EmbeddingCanvas* const canvas : canvases()) canvas->showAll();
}

}  // namespace lime::explorer
