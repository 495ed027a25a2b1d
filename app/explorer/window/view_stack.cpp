// SPDX-License-Identifier: Apache-2.0
#include "explorer/window/view_stack.h"

#include <QApplication>
#include <QScrollArea>
#include <algorithm>
#include <map>
#include <span>
#include <string>

#include "core/errors.h"
#include "core/program/suggest.h"
#include "explorer/models/text.h"
#include "explorer/models/token_rows.h"
#include "explorer/models/workspace.h"
#include "explorer/window/explain_button.h"

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

}  // namespace

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
