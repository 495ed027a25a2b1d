// SPDX-License-Identifier: Apache-2.0
#include "explorer/window/view_stack.h"

#include <QApplication>

#include "core/program/suggest.h"
#include "core/utf8.h"
#include "explorer/collapse/collapse_view.h"
#include "explorer/embeddings/embeddings_view.h"
#include "explorer/interventions/interventions_view.h"
#include "explorer/probes/probes_view.h"
#include "explorer/results/results_view.h"
#include "explorer/router/router_view.h"
#include "explorer/text/text_view.h"

namespace lime::explorer {
namespace {

/// @throws InvalidArgument  if `json` is no object, or has a name that is not among `known`.
void checkNames(const Json& json, const std::vector<std::string>& known, const std::string& where) {
  if (!json.is_object()) {
    throw InvalidArgument("{}: must be an object of names and values, got {}", where,
                          printable(json.dump()));
  }
  for (const auto& [name, value] : json.items()) {
    if (contains(known, name)) continue;
    throw InvalidArgument("{}: unknown setting '{}' (available: {})", where, printable(name),
                          join_words(known));
  }
}

/// Makes a view, for ViewKind::make.
template <typename Page>
View* makeView(const ViewContext& context) {
  return new Page(context);
}

/// Returns whether a document has results of one of `metrics`.
bool hasMetric(const Document& document, const std::vector<std::string>& metrics) {
  return document.results && contains(metrics, document.results->results.metric);
}

}  // namespace

const std::vector<ViewKind>& allViews() {
  static const std::vector<ViewKind> views = {
      {u"router"_s, u"Router"_s, u"Which layers and heads do the routers read, and how strongly?"_s,
       Need::kCheckpoint, [](const Document& document) { return document.checkpoint != nullptr; },
       makeView<RouterView>},
      {u"collapse"_s, u"Collapse"_s, u"In which layers do the representations collapse?"_s,
       Need::kCapture, [](const Document& document) { return document.capture != nullptr; },
       makeView<CollapseView>},
      {u"embeddings"_s, u"Embeddings"_s,
       u"Which tokens are close to each other, and in which layers?"_s, Need::kCapture,
       [](const Document& document) {
         return document.capture != nullptr || hasMetric(document, {"tsne"});
       },
       makeView<EmbeddingsView>},
      {u"probes"_s, u"Probes"_s, u"What is linearly decodable from each layer?"_s, Need::kWords,
       [](const Document& document) {
         return hasMetric(document, {"separability", "blimp"}) ||
                (document.capture && (canProbe(*document.capture, ProbeQuestion::kBlimp) ||
                                      canProbe(*document.capture, ProbeQuestion::kSeparability)));
       },
       makeView<ProbesView>},
      {u"text"_s, u"Text"_s,
       u"How does each token change from layer to layer, and what does it attend to?"_s,
       Need::kSequences, TextView::shows, makeView<TextView>},
      {u"interventions"_s, u"Interventions"_s,
       u"How do the predictions change without some of the routes?"_s, Need::kRoutes,
       InterventionsView::shows, makeView<InterventionsView>},
      {u"results"_s, u"Results"_s, u"What are the results, as figures of a paper?"_s,
       Need::kResults, [](const Document& document) { return document.results != nullptr; },
       makeView<ResultsView>},
  };
  return views;
}

QString currentViewId(const QString& id) {
  if (id == "clouds"_L1) return u"embeddings"_s;
  if (id == "surgery"_L1) return u"interventions"_s;
  return id;
}

ViewStack::ViewStack(const ViewContext& context)
    : workspace_(context.workspace),
      start_(new StartPage),
      offer_(new OfferPage),
      explain_(new ExplainButton(*this)) {
  setBackgroundRole(QPalette::Base);
  setAutoFillBackground(true);
  start_->setDemo(findDemo());
  addWidget(start_);
  addWidget(offer_);
  addViews(context);
}

void ViewStack::addViews(const ViewContext& context) {
  for (const ViewKind& kind : allViews()) {
    View* const view = kind.make(context);
    const int index = static_cast<int>(views_.size());
    views_.push_back(view);
    addWidget(view);
    connect(view, &View::status, this, &ViewStack::status);
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

bool ViewStack::showsStartPage() const { return currentWidget() == start_; }

void ViewStack::showIndex(int index) {
  if (index < 0 || index >= static_cast<int>(views_.size())) return;
  current_ = index;
  Q_EMIT currentViewChanged(index);
  showCurrent();
}

void ViewStack::showView(const QString& id) {
  const std::vector<ViewKind>& kinds = allViews();
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i].id == currentViewId(id)) showIndex(static_cast<int>(i));
  }
}

void ViewStack::showViewFor(const Document& document) {
  const std::vector<ViewKind>& kinds = allViews();
  if (currentKind().shows(document)) return;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (!kinds[i].shows(document)) continue;
    showIndex(static_cast<int>(i));
    return;
  }
}

void ViewStack::showCurrent() {
  const std::vector<Document>& open = workspace_.documents();
  QWidget* wanted = currentView();
  if (open.empty()) {
    wanted = start_;
  } else if (std::none_of(open.begin(), open.end(), currentKind().shows)) {
    wanted = offer_;
    Q_EMIT emptyViewShown();
  }
  if (currentWidget() != wanted) {
    const bool had_focus = isAncestorOf(QApplication::focusWidget());
    setCurrentWidget(wanted);
    explain_->setView(showsStartPage() ? QString()
                                       : allViews()[static_cast<std::size_t>(current_)].id);
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
  } else {
    currentWidget()->setFocus();
  }
}

void ViewStack::checkStates(const Json& states) const {
  std::vector<std::string> ids = {"selection"};
  const std::vector<ViewKind>& kinds = allViews();
  for (const ViewKind& kind : kinds) ids.push_back(kind.id.toStdString());
  checkNames(states, ids, "state");
  if (states.contains("selection")) {
    checkNames(states.at("selection"), {"layer", "rows"}, "state: selection");
  }
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const std::string id = kinds[i].id.toStdString();
    if (!states.contains(id)) continue;
    std::vector<std::string> known;
    const Json state = views_[i]->state();
    for (const auto& [name, value] : state.items()) known.push_back(name);
    for (const std::string& name : views_[i]->furtherNames()) {
      if (!state.contains(name)) known.push_back(name);
    }
    checkNames(states.at(id), known, "state: " + id);
  }
}

void ViewStack::setStates(const Json& given) {
  Json states = given;
  for (const auto& [name, value] : given.items()) {
    const std::string id = currentViewId(toQString(name)).toStdString();
    if (id == name) continue;
    states.erase(name);
    states[id] = value;
  }
  checkStates(states);
  if (states.contains("selection")) select(states.at("selection"));
  const std::vector<ViewKind>& kinds = allViews();
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const std::string id = kinds[i].id.toStdString();
    if (states.contains(id)) views_[i]->setState(states.at(id));
  }
}

void ViewStack::select(const Json& wanted) {
  Selection selection = workspace_.selection();
  if (wanted.contains("layer")) selection.layer = wanted.at("layer").get<int>();
  const std::vector<const Document*> captures = workspace_.documentsOf(DocumentKind::kCapture);
  if (wanted.contains("rows") && !captures.empty()) {
    selection.tokens =
        tokensAt(*captures.front()->capture, wanted.at("rows").get<std::vector<std::int64_t>>());
  }
  workspace_.setSelection(selection);
}

}  // namespace lime::explorer
