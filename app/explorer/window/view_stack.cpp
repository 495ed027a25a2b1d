// SPDX-License-Identifier: Apache-2.0
#include "explorer/window/view_stack.h"

#include <QApplication>
#include <QDialog>
#include <QFileInfo>
#include <QImage>
#include <QScrollArea>
#include <QTextBrowser>

#include "core/program/suggest.h"
#include "explorer/collapse/collapse_view.h"
#include "explorer/embeddings/embeddings_view.h"
#include "explorer/interventions/interventions_view.h"
#include "explorer/probes/probes_view.h"
#include "explorer/results/results_view.h"
#include "explorer/router/router_view.h"
#include "explorer/text/text_view.h"
#include "explorer/window/invariance_notes.h"

namespace lime::explorer {
namespace {

/// @throws InvalidArgument  if `json` is no object, or has a name that is not among `known`.
void checkNames(const Json& json, const std::vector<std::string>& known, const std::string& where) {
  throw_if(!json.is_object(), "{}: must be an object of names and values, got {}", where,
           printable(json.dump()));
  for (const auto& [name, value] : json.items()) {
    if (contains(known, name)) continue;
    throw InvalidArgument("{}: unknown setting '{}' (available: {})", where, printable(name),
                          join_words(known));
  }
}

/// Makes a view, for ViewKind::make.
template <typename Page> View* makeView(const ViewContext& context) { return new Page(context); }

/// Returns whether a document has results of one of `metrics`.
bool hasMetric(const Document& document, const std::vector<std::string>& metrics) {
  return document.results && contains(metrics, document.results->results.metric);
}

bool isCapture(const Document& document) { return document.capture != nullptr; }
bool isResults(const Document& document) { return document.results != nullptr; }
bool noDocument(const Document& /*document*/) { return false; }

bool hasEmbeddings(const Document& document) {
  return isCapture(document) || hasMetric(document, {"tsne"});
}

bool hasClasses(const Document& document) {
  return hasMetric(document, {"separability", "blimp"}) ||
         (isCapture(document) && (canProbe(*document.capture, ProbeQuestion::kBlimp) ||
                                  canProbe(*document.capture, ProbeQuestion::kSeparability)));
}

/// Returns the place in allViews() of the best view for documents; -1 if there is none.
int bestView(std::span<const Document> documents) {
  const std::vector<ViewKind>& kinds = allViews();
  const auto shows_any = [&](const auto& predicate) {
    return std::ranges::any_of(documents, predicate);
  };
  const auto answering =
      std::ranges::find_if(kinds, [&](const ViewKind& kind) { return shows_any(kind.answers); });
  if (answering != kinds.end()) return static_cast<int>(answering - kinds.begin());
  const auto showing = std::find_if(kinds.rbegin(), kinds.rend(),
                                    [&](const ViewKind& kind) { return shows_any(kind.shows); });
  return static_cast<int>(kinds.rend() - showing) - 1;
}

}  // namespace

QString explanationOf(Need need) {
  switch (need) {
    case Need::kCheckpoint:
      return u"This view shows checkpoints: folders with config.json and weights."_s;
    case Need::kCapture:
      return u"This view needs a capture: the activations of a checkpoint on a text."_s;
    case Need::kSequences:
      return u"This view needs a capture of whole sequences: the activations of a checkpoint on a "
             "text."_s;
    case Need::kWords:
      return u"This view needs a capture of tokens with classes: a few words of a text."_s;
    case Need::kResults:
      return u"This view shows results of lime-metrics, which measures captures of a text."_s;
  }
  return {};
}

bool needsCapture(Need need) {
  switch (need) {
    case Need::kCheckpoint: return false;
    case Need::kCapture:
    case Need::kSequences:
    case Need::kWords:
    case Need::kResults: return true;
  }
  return false;
}

const std::vector<ViewKind>& allViews() {
  static const std::vector<ViewKind> views = {
      {u"router"_s,
       u"Router"_s,
       u"Which layers and heads do the routers read, and how strongly?"_s,
       Need::kCheckpoint,
       [](const Document& document) { return document.checkpoint != nullptr; },
       RouterView::hasRouters,
       makeView<RouterView>,
       {u"Each cell is the fraction of a layer's router weight on one buffered layer: the keys and "
        u"values that this or an earlier layer computed. Buffered layer 0 is projected from the "
        u"embeddings, and a uniform router gives each of the n layers that it can read "
        u"1/n."_s,
        u"M<sub>l,l'</sub> = &Sigma;<sub>h,h'</sub> |R<sub>l</sub>[h, (l', h')]| / its sum over l'"_s,
        u"|R| is not scale-invariant: multiplying W<sub>K</sub> and W<sub>V</sub> of a buffered "
        u"head by c and dividing its router columns by c changes the map but not the model. Maps "
        u"weighted by the size of keys or values are invariant."_s,
        u"router.md"_s,
        u"The maps"_s,
        {"`router`"}}},
      {u"collapse"_s,
       u"Collapse"_s,
       u"In which layers do the representations collapse, and why?"_s,
       Need::kCapture,
       isCapture,
       isCapture,
       makeView<CollapseView>,
       {u"The table names the cause of each range of layers: massive tokens, outlier dimensions, a "
        u"common direction, or a collapse of what remains without them. The matrix-based entropy "
        u"of a sequence is near 0 if all its tokens lie on one line, and reaches the ceiling if "
        u"they spread evenly over all directions (bands: 95% bootstrap intervals over sequences)."_s,
        u"K = Z Z<sup>T</sup> / tr(Z Z<sup>T</sup>), S<sub>&alpha;</sub> = log(&Sigma;<sub>i</sub> "
        u"&lambda;<sub>i</sub>(K)<sup>&alpha;</sup>) / (1 &minus; &alpha;)"_s,
        u"Entropies of different texts, presets or orders are not comparable. A lower entropy need "
        u"not lose information: probe the same layer."_s,
        u"collapse.md"_s,
        {},
        {"`collapse`", "`entropy`, preset `lime-code`"}}},
      {u"embeddings"_s,
       u"Embeddings"_s,
       u"Which tokens are close to each other, and in which layers?"_s,
       Need::kCapture,
       hasEmbeddings,
       hasEmbeddings,
       makeView<EmbeddingsView>,
       {u"Each point is a token of one layer; t-SNE places tokens with similar representations "
        u"close to each other. Each layer is rotated and scaled to match the previous one."_s,
        u"minimise KL(P || Q), q<sub>ij</sub> &prop; (1 + |y<sub>i</sub> &minus; "
        u"y<sub>j</sub>|<sup>2</sup>)<sup>&minus;1</sup>"_s,
        u"Sizes of clusters and distances between them have no meaning, and another perplexity or "
        u"seed gives another plot."_s,
        u"tsne.md"_s,
        {},
        {"`tsne`"}}},
      {u"probes"_s,
       u"Probes"_s,
       u"What is linearly decodable from each layer?"_s,
       Need::kWords,
       hasClasses,
       hasClasses,
       makeView<ProbesView>,
       {u"A linear classifier is trained on the representations of each layer and tested on a "
        u"held-out fold. Accuracy above the baseline shows that the property is "
        u"linearly decodable in that layer."_s,
        u"p(c | x) = softmax(W x + b)<sub>c</sub>"_s,
        u"Decodable does not mean used: the model may ignore what a probe finds. Compare with "
        u"control labels."_s,
        u"separability.md"_s,
        {},
        {"`separability`"}}},
      {u"text"_s,
       u"Text"_s,
       u"How does each token change from layer to layer, and what does it attend to?"_s,
       Need::kSequences,
       TextView::shows,
       TextView::shows,
       makeView<TextView>,
       {u"Colours show one value per token and layer, such as the drop in the sequence's entropy "
        u"if the token is removed. The attention tab shows which keys a head reads, and from which "
        u"buffered layer."_s,
        u"contribution of token t = S(Z) &minus; S(Z without row t)"_s,
        u"Attention weights show what is mixed, not what changes the prediction."_s,
        u"attention.md"_s,
        {},
        {"`attention`", "`lens`"}}},
      {u"interventions"_s,
       u"Interventions"_s,
       u"How do the predictions change without a layer, a head or a route?"_s,
       Need::kCheckpoint,
       InterventionsView::shows,
       noDocument,
       makeView<InterventionsView>,
       {u"The text is scored twice, by the original model and with some of its parts or routes "
        u"skipped or scaled. What can be removed without changing the loss is not needed for this "
        u"text."_s,
        u"&Delta; loss = mean over t of log p(x<sub>t</sub> | x<sub>&lt;t</sub>) &minus; "
        u"log p<sub>edited</sub>(x<sub>t</sub> | x<sub>&lt;t</sub>)"_s,
        u"Other parts may compensate for a removed one, so effects of several edits need not add "
        u"up."_s,
        u"explorer.md"_s, u"Interventions"_s}},
      {u"results"_s,
       u"Results"_s,
       u"How do the results look as figures of a paper?"_s,
       Need::kResults,
       isResults,
       isResults,
       makeView<ResultsView>,
       {u"Each figure is drawn by a recipe of lime-figure from the open results of one metric. The "
        u"note below it states what bands, error bars and stars are."_s,
        u"difference = model &minus; baseline, paired by sequence, fold or pair"_s,
        u"Results of different texts are not comparable. With many sequences small differences "
        u"have stars: judge a difference by its size."_s,
        u"figures.md"_s}},
  };
  return views;
}

int indexOfView(const QString& id) {
  const auto found = std::ranges::find(allViews(), id, &ViewKind::id);
  return found == allViews().end() ? -1 : static_cast<int>(found - allViews().begin());
}

namespace {

/// Scrolls a view where the window is smaller than the view can be.
class ViewFrame : public QScrollArea {
 public:
  explicit ViewFrame(QWidget& view) {
    setWidget(&view);
    setWidgetResizable(true);
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::NoFocus);
    viewport()->setAutoFillBackground(false);
    view.setAutoFillBackground(false);
  }
  QSize minimumSizeHint() const override { return {320, 240}; }
};

/// A page of the manual, whose images are no wider than its window.
class ManualBrowser : public QTextBrowser {
 public:
  QVariant loadResource(int type, const QUrl& name) override {
    const QVariant resource = QTextBrowser::loadResource(type, name);
    if (type != QTextDocument::ImageResource) return resource;
    QImage image = resource.value<QImage>();
    if (image.isNull()) image.loadFromData(resource.toByteArray());
    const int most = std::max(100, viewport()->width() - kManualMargin);
    if (image.isNull() || image.width() <= most) return resource;
    return image.scaledToWidth(most, Qt::SmoothTransformation);
  }

 private:
  static constexpr int kManualMargin = 24;  // of the page, both sides
};

}  // namespace

void showPage(const QString& path, const QString& heading, QWidget* parent) {
  auto* const dialog = new QDialog(parent);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(QFileInfo(path).fileName());
  dialog->resize(760, 640);
  auto* const browser = new ManualBrowser;
  browser->resize(dialog->size());  // images fit before it is laid out
  browser->setAccessibleName(u"manual"_s);
  browser->setSource(QUrl::fromLocalFile(path));
  if (!heading.isEmpty()) browser->find(heading, QTextDocument::FindCaseSensitively);
  (new QVBoxLayout(dialog))->addWidget(browser);
  dialog->show();
}

QString manualPage(const QString& page) {
  const QString installed = findAbove(u"share/doc/lime/docs/"_s + page);
  return installed.isEmpty() ? findAbove(u"docs/"_s + page) : installed;
}

ExplainButton::ExplainButton(QWidget& parent) : QToolButton(&parent) {
  hide();
  setText(u"?"_s);
  setAutoRaise(true);
  setShortcut(QKeySequence(Qt::Key_Question));  // Shift+F1 is the manual
  setToolTip(u"What this view shows, and what to keep in mind (%1)"_s.arg(
      shortcut().toString(QKeySequence::NativeText)));
  setAccessibleName(u"explain this view"_s);
  connect(this, &QToolButton::clicked, this, &ExplainButton::explain);
}

void ExplainButton::setView(const ViewKind* view) {
  view_ = view;
  setVisible(view != nullptr);
  place();
}

void ExplainButton::place() {
  resize(26, 26);
  move(parentWidget()->width() - width() - 6, 9);
  raise();
}

void ExplainButton::explain() {
  const Explanation& explanation = view_->explanation;
  const QString path = manualPage(explanation.page);
  const QString link = path.isEmpty() ? u"docs/%1"_s.arg(explanation.page)
                                      : u"<a href='#'>docs/%1</a>"_s.arg(explanation.page);
  QString invariance = invarianceHtml(explanation.measurements);
  if (!invariance.isEmpty()) {
    invariance.prepend(u"<p><b>Is it a property of the model?</b> (docs/invariance.md)</p>"_s);
  }
  auto* const popup = new QFrame(this, Qt::Popup);
  popup->setAttribute(Qt::WA_DeleteOnClose);
  popup->setFrameShape(QFrame::StyledPanel);
  auto* const label = new QLabel(u"<p>%1</p><p><i>%2</i></p><p>%3</p>%4<p>%5</p>"_s.arg(
      explanation.text, explanation.formula, explanation.caveat, invariance, link));
  label->setWordWrap(true);
  label->setFixedWidth(420);
  label->setAccessibleName(u"explanation"_s);
  label->setTextInteractionFlags(Qt::TextBrowserInteraction);
  connect(label, &QLabel::linkActivated, this, [this, popup, path, explanation] {
    popup->close();
    showPage(path, explanation.heading, window());
  });
  (new QVBoxLayout(popup))->addWidget(label);
  popup->adjustSize();
  popup->move(mapToGlobal(QPoint(width() - popup->width(), height())));
  popup->show();
  label->setFocus();
}

ViewStack::ViewStack(const ViewContext& context)
    : workspace_(context.workspace),
      start_(new StartPage(context.jobs)),
      offer_(new OfferPage(context.jobs)),
      explain_(new ExplainButton(*this)) {
  setBackgroundRole(QPalette::Base);
  setAutoFillBackground(true);
  start_frame_ = new ViewFrame(*start_);
  offer_frame_ = new ViewFrame(*offer_);
  addWidget(start_frame_);
  addWidget(offer_frame_);
  addViews(context);
}

void ViewStack::addViews(const ViewContext& context) {
  for (const ViewKind& kind : allViews()) {
    View* const view = kind.make(context);
    const int index = static_cast<int>(views_.size());
    views_.push_back(view);
    frames_.push_back(new ViewFrame(*view));
    addWidget(frames_.back());
    connect(view, &View::status, this, &ViewStack::status);
    connect(view, &View::viewRequested, this, &ViewStack::showView);
    connect(view, &View::stateRestored, this, [this, index] { showIndex(index); });
    connect(view, &View::figureChanged, this, [this, view] {
      if (view == currentView()) Q_EMIT figureChanged();
    });
  }
}

View* ViewStack::currentView() const {
  return views_.empty() ? nullptr : views_[static_cast<std::size_t>(current_)];
}

const ViewKind& ViewStack::currentKind() const {
  return allViews()[static_cast<std::size_t>(current_)];
}

bool ViewStack::showsStartPage() const { return currentWidget() == start_frame_; }

void ViewStack::showIndex(int index) {
  if (index < 0 || index >= static_cast<int>(views_.size())) return;
  current_ = index;
  Q_EMIT currentViewChanged(index);
  showCurrent();
}

void ViewStack::showView(const QString& id) { showIndex(indexOfView(id)); }

void ViewStack::showViewFor(const Document& document) {
  if (!currentKind().shows(document)) showIndex(bestView({&document, 1}));
}

void ViewStack::showBestView() { showIndex(bestView(workspace_.documents())); }

void ViewStack::showCurrent() {
  const std::vector<Document>& open = workspace_.documents();
  QWidget* widget = currentFrame();
  if (open.empty()) {
    widget = start_frame_;
  } else if (std::none_of(open.begin(), open.end(), currentKind().shows)) {
    widget = offer_frame_;
    Q_EMIT emptyViewShown();
  }
  if (currentWidget() != widget) {
    const bool had_focus = isAncestorOf(QApplication::focusWidget());
    setCurrentWidget(widget);
    explain_->setView(showsStartPage() ? nullptr : &currentKind());
    Q_EMIT status({});
    if (had_focus) takeFocus();
  }
  Q_EMIT figureChanged();
}

void ViewStack::resizeEvent(QResizeEvent* event) {
  QStackedWidget::resizeEvent(event);
  explain_->place();
}

void ViewStack::takeFocus() {
  if (showsView()) {
    currentView()->takeFocus();
  } else if (showsStartPage()) {
    start_->takeFocus();
  } else {
    offer_->setFocus();
  }
}

void ViewStack::setStates(const Json& states) {
  std::vector<std::string> ids = {"selection"};
  for (const ViewKind& kind : allViews()) ids.push_back(kind.id.toStdString());
  std::map<std::size_t, Json> of_view;
  if (!states.is_object()) checkNames(states, ids, "state");
  for (const auto& [name, value] : states.items()) {
    const int index = indexOfView(toQString(name));
    if (index < 0) {
      checkNames(Json::object({{name, value}}), ids, "state");
      checkNames(value, {"layer", "rows"}, "state: selection");
      continue;
    }
    const auto view = static_cast<std::size_t>(index);
    std::vector<std::string> known;
    const Json state = views_[view]->state();
    for (const auto& [own, setting] : state.items()) known.push_back(own);
    for (const std::string& own : views_[view]->furtherNames()) {
      if (!state.contains(own)) known.push_back(own);
    }
    checkNames(value, known, "state: " + ids[view + 1]);
    of_view[view] = value;
  }
  if (states.contains("selection")) select(states.at("selection"));
  for (const auto& [view, state] : of_view) views_[view]->setState(state);
}

void ViewStack::select(const Json& requested) {
  Selection selection = workspace_.selection();
  if (requested.contains("layer")) selection.layer = requested.at("layer").get<int>();
  const std::vector<const Document*> captures = workspace_.documentsOf(DocumentKind::kCapture);
  if (requested.contains("rows") && !captures.empty()) {
    selection.tokens =
        tokensAt(*captures.front()->capture, requested.at("rows").get<std::vector<std::int64_t>>());
  }
  workspace_.setSelection(selection);
}

}  // namespace lime::explorer
