// SPDX-License-Identifier: Apache-2.0
#include "explorer/window/figure_actions.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QDialog>
#include <QKeySequence>
#include <optional>
#include <utility>

#include "explorer/widgets/view.h"
#include "explorer/window/export_dialog.h"
#include "explorer/window/menu_action.h"
#include "explorer/window/view_stack.h"

namespace lime::explorer {

FigureActions::FigureActions(ViewStack& views, QWidget& window)
    : QObject(&window), views_(views), window_(window) {}

void FigureActions::addExport(QMenu& menu) {
  actions_ << addMenuAction(menu, u"&Export figure..."_s, QKeySequence(Qt::CTRL | Qt::Key_E),
                            u"Write the figure as PDF, SVG, PNG, CSV or pgfplots"_s,
                            [this] { exportFigure(); });
}

void FigureActions::addCopy(QMenu& menu) {
  copy_ = addMenuAction(
      menu, u"Copy as command &line"_s, QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C),
      u"Copy the commands that draw this figure"_s, [this] { copyCommandLines(); });
  connect(&menu, &QMenu::aboutToShow, this, &FigureActions::describeCopy);
  actions_ << copy_
           << addMenuAction(menu, u"Copy &image"_s, QKeySequence(Qt::CTRL | Qt::ALT | Qt::Key_C),
                            u"Copy the view as an image"_s, [this] { copyImage(); });
}

void FigureActions::addZoom(QMenu& menu) {
  constexpr double kFactor = 1.5;
  const auto onView = [this](auto action) {
    return [this, action] { action(*views_.currentView()); };
  };
  QAction* const zoom_in = addMenuAction(menu, u"Zoom &in"_s, {}, u"Zoom in"_s,
                                         onView([](View& view) { view.zoom(kFactor); }));
  zoom_in->setShortcuts(
      {QKeySequence(Qt::CTRL | Qt::Key_Plus), QKeySequence(Qt::CTRL | Qt::Key_Equal)});
  actions_ << zoom_in
           << addMenuAction(menu, u"Zoom &out"_s, QKeySequence(Qt::CTRL | Qt::Key_Minus),
                            u"Zoom out"_s, onView([](View& view) { view.zoom(1.0 / kFactor); }))
           << addMenuAction(menu, u"Show &all"_s, QKeySequence(Qt::CTRL | Qt::Key_0),
                            u"Show the whole figure"_s, onView([](View& view) { view.showAll(); }));
}

void FigureActions::update() {
  const bool has_figure = views_.showsView() && views_.currentView()->figure().has_value();
  for (QAction* const action : std::as_const(actions_)) action->setEnabled(has_figure);
}

void FigureActions::exportFigure() {
  const View& view = *views_.currentView();
  std::optional<Figure> figure = view.figure();
  if (!figure) return;
  ExportDialog dialog(std::move(*figure), view.provenance(), &window_);
  if (dialog.exec() == QDialog::Accepted) {
    Q_EMIT message(u"Wrote %1"_s.arg(dialog.path()));
  }
}

void FigureActions::describeCopy() {
  const QStringList lines = views_.currentView()->commandLines();
  const bool draws = !lines.isEmpty() && lines.back().startsWith("lime-figure "_L1);
  copy_->setText(draws ? u"Copy as command &line"_s
                       : u"Copy as command &line (no recipe of lime-figure draws this figure)"_s);
  copy_->setEnabled(!lines.isEmpty());
}

void FigureActions::copyCommandLines() {
  const QStringList lines = views_.currentView()->commandLines();
  QApplication::clipboard()->setText(lines.join(u'\n'));
  Q_EMIT message(lines.isEmpty() ? u"lime-figure has no recipe for this figure"_s
                                 : u"Copied: %1"_s.arg(lines.back()));
}

void FigureActions::copyImage() {
  QApplication::clipboard()->setPixmap(views_.currentView()->grab());
  Q_EMIT message(u"Copied the image"_s);
}

}  // namespace lime::explorer
