// SPDX-License-Identifier: Apache-2.0
#include "explorer/widgets/view.h"

#include <QAction>
#include <QEvent>
#include <QUndoStack>
#include <utility>

#include "core/program/program.h"
#include "explorer/models/workspace.h"
#include "explorer/widgets/figure_view.h"
#include "explorer/widgets/view_commands.h"

namespace lime::explorer {

View::View(QString title, const ViewContext& context, QWidget* parent)
    : QWidget(parent), title_(std::move(title)), context_(context) {
  setAccessibleName(QStringLiteral("%1 view").arg(title_));
  connect(&panes_, &PaneGroup::activated, this, &View::figureChanged);
  connect(&panes_, &PaneGroup::status, this, &View::status);
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
  ViewState before = viewState();
  change();
  ViewState after = viewState();
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

ViewState View::viewState() const { return {state(), context_.workspace.selection()}; }

void View::push(const QString& text, ViewState before, ViewState after) {
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

void View::watchDocuments(const std::function<void()>& update) {
  for (const auto signal :
       {&Workspace::documentAdded, &Workspace::documentRemoved, &Workspace::documentChanged}) {
    connect(&workspace(), signal, this, [update] { update(); });
  }
}

void View::setLayer(int layer) {
  Selection selection = workspace().selection();
  selection.layer = layer;
  workspace().setSelection(selection);
}

void View::selectLayer(int layer) {
  changeState(QStringLiteral("Select a layer"), [&] { setLayer(layer); });
}

void View::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) paletteChanged();
}

QAction* View::addViewAction(const QString& text, const QList<QKeySequence>& shortcuts,
                             const QString& toolTip, const std::function<void()>& run) {
  auto* const action = new QAction(text, this);
  action->setShortcuts(shortcuts);
  action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
  action->setToolTip(toolTip);
  action->setStatusTip(toolTip);
  connect(action, &QAction::triggered, this, [run] { run(); });
  addAction(action);
  return action;
}

void View::addLayerActions(const std::function<void(int)>& walk) {
  addViewAction(QStringLiteral("Previous layer"), {QKeySequence(Qt::ALT | Qt::Key_Left)},
                QStringLiteral("Select the previous layer"), [walk] { walk(-1); });
  addViewAction(QStringLiteral("Next layer"), {QKeySequence(Qt::ALT | Qt::Key_Right)},
                QStringLiteral("Select the next layer"), [walk] { walk(1); });
}

QString View::layerBaseOption() const {
  return preferences().layer_base != 0 ? QStringLiteral(" --layer-base 1") : QString();
}

}  // namespace lime::explorer
