// SPDX-License-Identifier: Apache-2.0
#include "explorer/widgets/view.h"

#include <QAction>
#include <QElapsedTimer>
#include <QEvent>
#include <QLayout>
#include <QUndoCommand>
#include <QUndoStack>
#include <ranges>

#include "core/program/program.h"
#include "explorer/widgets/controls.h"
#include "explorer/widgets/figure_view.h"
#include "explorer/widgets/theme.h"

namespace lime::explorer {
namespace {

constexpr qint64 kOneStepMs = 1000;

/// Removes what both states share, except for `kept`: a step need not keep a long text twice.
void keepDifferences(Json& a, Json& b, const std::string& kept) {
  for (auto part = a.begin(); part != a.end();) {
    const auto other = b.find(part.key());
    if (other == b.end() || *other != *part || part.key() == kept) {
      ++part;
    } else {
      b.erase(other);
      part = a.erase(part);
    }
  }
}

/// A part of a view that has no state, a plot that was zoomed.
struct Part {
  QString name;
  std::function<void()> undo;
  std::function<void()> redo;
};

/// A step of undo of a view: its state and the selection, of which only the differences are kept,
/// or parts that have no state. Steps of equal text that follow each other within a second are one.
class ViewCommand : public QUndoCommand {
 public:
  ViewCommand(View& view, Workspace& workspace, const QString& text, ViewState before,
              ViewState after, std::vector<Part> parts = {})
      : QUndoCommand(text),
        view_(&view),
        workspace_(workspace),
        subject_(view.subjectName()),
        before_(std::move(before)),
        after_(std::move(after)),
        parts_(std::move(parts)) {
    since_.start();
    if (before_.state == after_.state) {
      before_.state = after_.state = nullptr;
    } else {
      keepDifferences(before_.state, after_.state, subject_);
    }
  }

  int id() const override { return parts_.empty() ? 1 : 2; }

  void undo() override {
    if (!view_) return;
    apply(before_);
    for (const Part& part : parts_ | std::views::reverse) part.undo();
    Q_EMIT view_->stateRestored();
  }

  /// The first call, by QUndoStack::push(), does nothing: the change is made.
  void redo() override {
    if (!std::exchange(is_done_, true) || !view_) return;
    apply(after_);
    for (const Part& part : parts_) part.redo();
    Q_EMIT view_->stateRestored();
  }

  bool mergeWith(const QUndoCommand* other) override {
    const auto& next = static_cast<const ViewCommand&>(*other);
    if (next.view_ != view_ || next.text() != text() || since_.elapsed() > kOneStepMs ||
        next.before_.state.is_null() != before_.state.is_null()) {
      return false;
    }
    for (const auto& [name, value] : next.before_.state.items()) {
      if (!before_.state.contains(name)) before_.state[name] = value;
    }
    if (!after_.state.is_null()) after_.state.update(next.after_.state);
    after_.selection = next.after_.selection;
    keepDifferences(before_.state, after_.state, subject_);
    for (const Part& part : next.parts_) {
      const auto own = std::ranges::find(parts_, part.name, &Part::name);
      if (own == parts_.end()) {
        parts_.push_back(part);
      } else {
        own->redo = part.redo;
      }
    }
    setObsolete(parts_.empty() && before_ == after_);
    since_.restart();
    return true;
  }

 private:
  void apply(const ViewState& state) {
    // A step that selected nothing leaves alone what was selected since by other views.
    if (before_.selection != after_.selection) workspace_.setSelection(state.selection);
    if (state.state.is_null()) return;
    Json whole = view_->state();
    whole.update(state.state);
    view_->setState(whole);
  }

  QPointer<View> view_;
  Workspace& workspace_;
  std::string subject_;
  ViewState before_;
  ViewState after_;
  std::vector<Part> parts_;
  QElapsedTimer since_;
  bool is_done_ = false;
};

}  // namespace

View::View(QString title, const ViewContext& context)
    : title_(std::move(title)), context_(context) {
  setAccessibleName(u"%1 view"_s.arg(title_));
  connect(&panes_, &PaneGroup::activated, this, &View::figureChanged);
  connect(&panes_, &PaneGroup::status, this, &View::status);
  connect(&panes_, &PaneGroup::legendClicked, &workspace(), &Workspace::hide);
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

int View::heightForWidth(int width) const {
  return layout() == nullptr ? QWidget::heightForWidth(width)
                             : layout()->minimumHeightForWidth(width);
}

void View::takeFocus() { (first_focus_ ? first_focus_.data() : this)->setFocus(); }

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

void View::select(const QString& text, const Selection& selection) {
  const Selection before = workspace().selection();
  workspace().setSelection(selection);
  const Selection& after = workspace().selection();
  if (before != after) push(text, {.selection = before}, {.selection = after});
}

ViewState View::viewState() const { return {state(), context_.workspace.selection()}; }

void View::push(const QString& text, ViewState before, ViewState after) {
  context_.undo.push(
      new ViewCommand(*this, context_.workspace, text, std::move(before), std::move(after)));
}

void View::recordChange(const QString& text) {
  Json now = state();
  Json before = std::exchange(remembered_, now);
  if (before.is_null()) return;
  for (const std::string& name : selectionNames()) {
    before.erase(name);
    now.erase(name);
  }
  if (before == now) return;
  const Selection& selection = workspace().selection();
  push(text, {std::move(before), selection}, {std::move(now), selection});
}

void View::recordPart(const QString& text, const QString& part, std::function<void()> undo,
                      std::function<void()> redo) {
  context_.undo.push(new ViewCommand(*this, context_.workspace, text, {}, {},
                                     {{part, std::move(undo), std::move(redo)}}));
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
  if (std::exchange(is_palette_old_, false)) paletteChanged();
  shown();
}

FigureStyle View::figureStyle() const { return screenStyle(*this, preferences()); }

void View::watchDocuments(const std::function<void()>& update) {
  for (const auto signal :
       {&Workspace::documentAdded, &Workspace::documentRemoved, &Workspace::documentChanged}) {
    connect(&workspace(), signal, this, [update] { update(); });
  }
}

Json View::state() const {
  Json state = Json::object();
  for (const Setting& setting : settings_) state[setting.name] = setting.get();
  return state;
}

void View::setState(const Json& state) {
  for (const Setting& setting : settings_) {
    if (state.contains(setting.name)) setting.set(state.at(setting.name));
  }
  restored();
}

void View::addSetting(std::string name, std::function<Json()> get,
                      std::function<void(const Json&)> set) {
  settings_.push_back({std::move(name), std::move(get), std::move(set)});
}

void View::addSetting(std::string name, QComboBox& box, const QString& text,
                      const std::function<void()>& update) {
  const auto entry = [&box](int index) {
    const QVariant value = box.itemData(index);
    const std::string words = value.toString().toStdString();
    return value.typeId() == QMetaType::QString ? Json(words) : parse_json(words, "box");
  };
  addSetting(
      std::move(name),
      [&box, entry] {
        return box.count() == 0 ? Json(awaitedName(box).toStdString()) : entry(box.currentIndex());
      },
      [&box, entry](const Json& value) {
        if (value.is_string()) awaitName(box, toQString(value.get<std::string>()));
        for (int i = 0; i < box.count(); ++i) {
          if (entry(i) == value) box.setCurrentIndex(i);
        }
      });
  connect(&box, &QComboBox::activated, this, [this, text, update] {
    recordChange(text);
    update();
  });
}

void View::walkLayers(const std::set<int>& layers, int step) {
  if (layers.empty()) return;
  const int end = step > 0 ? *layers.begin() : *layers.rbegin();
  const std::optional<int> now = workspace().selection().layer;
  selectLayer(now ? std::clamp(*now + step, *layers.begin(), *layers.rbegin()) : end);
}

void View::setLayer(std::optional<int> layer) {
  Selection selection = workspace().selection();
  selection.layer = layer;
  workspace().setSelection(selection);
}

void View::selectLayer(int layer) {
  changeState(u"Select a layer"_s, [&] { setLayer(layer); });
}

void View::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() != QEvent::PaletteChange) return;
  is_palette_old_ = !isVisible();  // its hidden parts keep the old one until they are shown
  paletteChanged();
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

void View::addRecomputeAction(const QString& toolTip, const std::function<void()>& run) {
  addViewAction(u"Recompute"_s, {QKeySequence(Qt::CTRL | Qt::Key_R)}, toolTip, run);
}

void View::addLayerActions(const std::function<void(int)>& walk) {
  addViewAction(u"Previous layer"_s, {QKeySequence(Qt::ALT | Qt::Key_Left)},
                u"Select the previous layer"_s, [walk] { walk(-1); });
  addViewAction(u"Next layer"_s, {QKeySequence(Qt::ALT | Qt::Key_Right)},
                u"Select the next layer"_s, [walk] { walk(1); });
}

QStringList View::layerBaseOption() const {
  return preferences().layer_base != 0 ? QStringList{"--layer-base", "1"} : QStringList();
}

}  // namespace lime::explorer
