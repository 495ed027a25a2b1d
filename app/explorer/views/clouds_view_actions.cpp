// SPDX-License-Identifier: Apache-2.0
// What keys do in the Clouds view: all that the mouse does.
#include <QAction>
#include <QApplication>

#include "explorer/views/cloud_canvas.h"
#include "explorer/views/clouds_view.h"

namespace lime::explorer {

void CloudsView::addActions() {
  const auto add = [this](const QString& text, const QList<QKeySequence>& keys, const QString& tip,
                          const std::function<void()>& run) {
    QAction* const action = addViewAction(text, keys.front(), tip);
    action->setShortcuts(keys);
    connect(action, &QAction::triggered, this, run);
    return action;
  };
  add(QStringLiteral("Previous layer"), {QKeySequence(Qt::ALT | Qt::Key_Left)},
      QStringLiteral("Move to the layer before"), [this] { walkLayers(-1); });
  add(QStringLiteral("Next layer"), {QKeySequence(Qt::ALT | Qt::Key_Right)},
      QStringLiteral("Move to the layer behind"), [this] { walkLayers(1); });
  add(QStringLiteral("Play through layers"), {QKeySequence(Qt::Key_P)},
      QStringLiteral("Watch the points move from the first layer to the last"), [this] { play(); });
  add(QStringLiteral("Choose all points that are seen"), {QKeySequence::SelectAll},
      QStringLiteral("The tokens of all points in the part of the cloud that is shown: zoom with "
                     "Ctrl++, move with Ctrl+Arrows"),
      [this] {
        if (canvases_.empty()) return;
        const std::size_t model = activeModel();
        choose(model, canvases_[model]->pointsShown(), {});
      });
  add(QStringLiteral("Choose nothing"),
      {QKeySequence(Qt::Key_Escape), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_A)},
      QStringLiteral("Give up the chosen tokens"), [this] { choose(0, {}, {}); });
  // Only where a cloud has the focus: buttons and lists have these keys, too.
  point_actions_ = {
      add(QStringLiteral("Choose the marked point, or no longer"), {QKeySequence(Qt::Key_Space)},
          QStringLiteral("The point that arrows have reached, besides those that are chosen"),
          [this] {
            if (canvases_.empty()) return;
            const std::size_t model = activeModel();
            toggle(model, canvases_[model]->cursor());
            describe(model, canvases_[model]->cursor());
          }),
      add(QStringLiteral("Neighbours of the marked point"),
          {QKeySequence(Qt::Key_Return), QKeySequence(Qt::Key_Enter)},
          QStringLiteral("The tokens nearest to the point that arrows have reached"), [this] {
            if (canvases_.empty()) return;
            const std::size_t model = activeModel();
            chooseNeighbours(model, canvases_[model]->cursor());
          })};
  for (QAction* const action : std::as_const(point_actions_)) {
    action->setShortcutContext(Qt::WidgetShortcut);
  }
}

std::size_t CloudsView::activeModel() const {
  for (std::size_t m = 0; m < canvases_.size(); ++m) {
    if (canvases_[m]->hasFocus()) return m;
  }
  return list_model_ < canvases_.size() ? list_model_ : 0;
}

void CloudsView::recordWindow(std::size_t model, const QString& what, const CloudWindow& before) {
  const auto show = [this, model](const CloudWindow& window) {
    // The clouds may be others now.
    if (model < canvases_.size()) canvases_[model]->setWindow(window);
  };
  recordPart(
      what, QStringLiteral("cloud %1").arg(model), [show, before] { show(before); },
      [show, after = canvases_[model]->window()] { show(after); });
}

}  // namespace lime::explorer
