// SPDX-License-Identifier: Apache-2.0
#include "explorer/views/view.h"

#include <QAction>
#include <QElapsedTimer>
#include <QPointer>
#include <QUndoCommand>
#include <QUndoStack>

#include "core/program.h"
#include "explorer/models/workspace.h"

namespace lime::explorer {
namespace {

constexpr qint64 kOneStepMs = 1000;
constexpr int kCommandId = 1;

/// One change of a view's state.
class StateCommand : public QUndoCommand {
 public:
  StateCommand(View& view, Json before, Json after, const QString& text)
      : QUndoCommand(text), view_(&view), before_(std::move(before)), after_(std::move(after)) {
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
    after_ = next->after_;
    since_.restart();
    return true;
  }

 private:
  void apply(const Json& state) {
    if (!view_) return;
    view_->setState(state);
    Q_EMIT view_->stateRestored();
  }

  QPointer<View> view_;
  Json before_;
  Json after_;
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
  provenance["view"].erase("rows");  // of tokens that are chosen: they may be many
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
  Json before = state();
  change();
  Json after = state();
  if (before == after) return;
  context_.undo.push(new StateCommand(*this, std::move(before), std::move(after), text));
}

void View::recordChange(const QString& text) {
  Json after = state();
  if (remembered_.is_null() || remembered_ == after) return;
  context_.undo.push(new StateCommand(*this, remembered_, after, text));
  remembered_ = std::move(after);
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
