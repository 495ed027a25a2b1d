// SPDX-License-Identifier: Apache-2.0
#include "explorer/views/view.h"

#include <QAction>
#include <QElapsedTimer>
#include <QPointer>
#include <QUndoCommand>
#include <QUndoStack>
#include <algorithm>
#include <utility>

#include "core/program.h"
#include "explorer/models/workspace.h"
#include "explorer/views/figure_view.h"

namespace lime::explorer {
namespace {

constexpr qint64 kOneStepMs = 1000;
constexpr int kCommandId = 1;
constexpr int kPartsId = 2;

/// Takes out what both states have alike: a step need not keep a long text twice.
void keepDifferences(Json& a, Json& b) {
  for (auto part = a.begin(); part != a.end();) {
    const auto other = b.find(part.key());
    if (other == b.end() || *other != *part) {
      ++part;
    } else {
      b.erase(other);
      part = a.erase(part);
    }
  }
}

/// One change of a view's state, and of what is selected. Of states it has what differs.
class StateCommand : public QUndoCommand {
 public:
  StateCommand(View& view, Workspace& workspace, ViewMoment before, ViewMoment after,
               const QString& text)
      : QUndoCommand(text),
        view_(&view),
        workspace_(workspace),
        before_(std::move(before)),
        after_(std::move(after)) {
    since_.start();
  }

  void undo() override { apply(before_); }
  void redo() override {
    // Pushing a command calls redo(): the change is there already.
    if (!is_done_) {
      is_done_ = true;
      return;
    }
    apply(after_);
  }
  int id() const override { return kCommandId; }
  bool mergeWith(const QUndoCommand* other) override {
    const auto* const next = static_cast<const StateCommand*>(other);
    if (next->view_ != view_ || next->text() != text() || since_.elapsed() > kOneStepMs)
      return false;
    if (next->before_.state.is_null() != before_.state.is_null()) return false;
    for (const auto& [name, value] : next->before_.state.items()) {
      if (!before_.state.contains(name)) before_.state[name] = value;
    }
    if (!after_.state.is_null()) after_.state.update(next->after_.state);
    after_.selection = next->after_.selection;
    keepDifferences(before_.state, after_.state);
    setObsolete(before_ == after_);
    since_.restart();
    return true;
  }

 private:
  void apply(const ViewMoment& moment) {
    if (!view_) return;
    // A step that selected nothing leaves alone what was selected since by other views.
    if (before_.selection != after_.selection) workspace_.setSelection(moment.selection);
    if (!moment.state.is_null()) {
      Json whole = view_->state();
      whole.update(moment.state);
      view_->setState(whole);
    }
    Q_EMIT view_->stateRestored();
  }

  QPointer<View> view_;
  Workspace& workspace_;
  ViewMoment before_;
  ViewMoment after_;
  QElapsedTimer since_;
  bool is_done_ = false;
};

/// Something that was done to parts of a view which keep no state: plots that were zoomed.
class PartsCommand : public QUndoCommand {
 public:
  struct Part {
    QString name;
    std::function<void()> undo;
    std::function<void()> redo;
  };

  PartsCommand(View& view, const QString& text, Part part) : QUndoCommand(text), view_(&view) {
    parts_.push_back(std::move(part));
    since_.start();
  }

  void undo() override {
    if (!view_) return;
    for (auto part = parts_.rbegin(); part != parts_.rend(); ++part) part->undo();
    Q_EMIT view_->stateRestored();
  }
  void redo() override {
    const bool is_done = std::exchange(is_done_, true);
    if (!is_done || !view_) return;
    for (const Part& part : parts_) part.redo();
    Q_EMIT view_->stateRestored();
  }
  int id() const override { return kPartsId; }
  bool mergeWith(const QUndoCommand* other) override {
    const auto* const next = static_cast<const PartsCommand*>(other);
    if (next->view_ != view_ || next->text() != text() || since_.elapsed() > kOneStepMs)
      return false;
    for (const Part& part : next->parts_) {
      const auto own = std::find_if(parts_.begin(), parts_.end(),
                                    [&](const Part& one) { return one.name == part.name; });
      if (own == parts_.end()) {
        parts_.push_back(part);
      } else {
        own->redo = part.redo;
      }
    }
    since_.restart();
    return true;
  }

 private:
  QPointer<View> view_;
  std::vector<Part> parts_;
  QElapsedTimer since_;
  bool is_done_ = false;
};

}  // namespace

View::View(QString title, const ViewContext& context, QWidget* parent)
    : QWidget(parent), title_(std::move(title)), context_(context) {
  setAccessibleName(QStringLiteral("%1 view").arg(title_));
}

Json View::provenance() const {
  Json provenance = Json::object();
  provenance["tool"] = tool_version();
  provenance["created_utc"] = utc_timestamp();
  provenance["commands"] = Json::array();
  for (const QString& line : commandLines()) provenance["commands"].push_back(line.toStdString());
  provenance["documents"] = Json::array();
  for (const Document& document : context_.workspace.documents()) {
    provenance["documents"].push_back({{"path", document.path.string()},
                                       {"kind", kindName(document.kind).toStdString()},
                                       {"label", document.label.toStdString()}});
  }
  provenance["view"] = state();
  return provenance;
}

void View::setState(const Json&) {}

void View::takeFocus() {
  if (first_focus_) {
    first_focus_->setFocus();
  } else {
    setFocus();
  }
}

void View::changeState(const QString& text, const std::function<void()>& change) {
  ViewMoment before = moment();
  change();
  ViewMoment after = moment();
  if (before == after) return;
  // A control's next step begins behind this one; what else it has changed is not recorded yet.
  for (const auto& [name, value] : after.state.items()) {
    const bool is_changed = !before.state.contains(name) || before.state.at(name) != value;
    if (is_changed && !remembered_.is_null()) remembered_[name] = value;
  }
  push(text, std::move(before), std::move(after));
}

void View::changeSelection(const QString& text, const Selection& selection) {
  changeState(text, [&] { workspace().setSelection(selection); });
}

ViewMoment View::moment() const { return {state(), context_.workspace.selection()}; }

void View::push(const QString& text, ViewMoment before, ViewMoment after) {
  if (before.state == after.state) {
    before.state = after.state = nullptr;
  } else {
    keepDifferences(before.state, after.state);
  }
  context_.undo.push(
      new StateCommand(*this, context_.workspace, std::move(before), std::move(after), text));
}

void View::recordChange(const QString& text) {
  Json after = state();
  if (remembered_.is_null() || remembered_ == after) return;
  const Selection& selection = workspace().selection();
  push(text, {remembered_, selection}, {after, selection});
  remembered_ = std::move(after);
}

void View::recordPart(const QString& text, const QString& part, std::function<void()> undo,
                      std::function<void()> redo) {
  context_.undo.push(new PartsCommand(*this, text, {part, std::move(undo), std::move(redo)}));
}

void View::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  for (FigureView* const plot : findChildren<FigureView*>()) {
    if (recorded_.contains(plot)) continue;
    recorded_.insert(plot);
    connect(plot, &FigureView::windowsChanged, this,
            [this, plot](const QString& what, const FigureWindows& before) {
              recordPart(
                  what, plot->accessibleName(), [plot, before] { plot->setWindows(before); },
                  [plot, after = plot->windows()] { plot->setWindows(after); });
            });
  }
}

void View::rememberState() { remembered_ = state(); }

QAction* View::addViewAction(const QString& text, const QKeySequence& shortcut,
                             const QString& toolTip) {
  auto* const action = new QAction(text, this);
  action->setShortcut(shortcut);
  action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
  action->setToolTip(toolTip);
  action->setStatusTip(toolTip);
  addAction(action);
  return action;
}

}  // namespace lime::explorer
