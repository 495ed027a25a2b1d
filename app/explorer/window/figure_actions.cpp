// SPDX-License-Identifier: Apache-2.0
#include "explorer/window/figure_actions.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QMenu>

#include "explorer/widgets/view.h"
#include "explorer/window/export_dialog.h"
#include "explorer/window/file_menu.h"
#include "explorer/window/view_stack.h"

namespace lime::explorer {

FigureActions::FigureActions(ViewStack& views, QWidget& window)
    : QObject(&window), views_(views), window_(window) {}

void FigureActions::addExport(QMenu& menu) {
  actions_ << addMenuAction(menu, QStringLiteral("&Export figure..."),
                            QKeySequence(Qt::CTRL | Qt::Key_E),
                            QStringLiteral("Write the figure as PDF, SVG, PNG, CSV or pgfplots"),
                            [this] { exportFigure(); });
}

void FigureActions::addCopy(QMenu& menu) {
  actions_ << addMenuAction(menu, QStringLiteral("Copy as command &line"),
                            QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C),
                            QStringLiteral("Copy the commands that draw this figure"),
                            [this] { copyCommandLines(); })
           << addMenuAction(menu, QStringLiteral("Copy &image"),
                            QKeySequence(Qt::CTRL | Qt::ALT | Qt::Key_C),
                            QStringLiteral("Copy the view as an image"), [this] { copyImage(); });
}

void FigureActions::addZoom(QMenu& menu) {
  constexpr double kFactor = 1.5;
  const auto onView = [this](auto action) {
    return [this, action] { action(*views_.currentView()); };
  };
  QAction* const zoom_in =
      addMenuAction(menu, QStringLiteral("Zoom &in"), {}, QStringLiteral("Zoom in"),
                    onView([](View& view) { view.zoom(kFactor); }));
  zoom_in->setShortcuts(
      {QKeySequence(Qt::CTRL | Qt::Key_Plus), QKeySequence(Qt::CTRL | Qt::Key_Equal)});
  actions_ << zoom_in
           << addMenuAction(menu, QStringLiteral("Zoom &out"),
                            QKeySequence(Qt::CTRL | Qt::Key_Minus), QStringLiteral("Zoom out"),
                            onView([](View& view) { view.zoom(1.0 / kFactor); }))
           << addMenuAction(menu, QStringLiteral("Show &all"), QKeySequence(Qt::CTRL | Qt::Key_0),
                            QStringLiteral("Show the whole figure"),
                            onView([](View& view) { view.showAll(); }));
}

void FigureActions::update() {
  const bool has_figure = !views_.showsStartPage() && views_.currentView()->figure().has_value();
  for (QAction* const action : std::as_const(actions_)) action->setEnabled(has_figure);
}

void FigureActions::exportFigure() {
  const View& view = *views_.currentView();
  std::optional<Figure> figure = view.figure();
  if (!figure) return;
  ExportDialog dialog(std::move(*figure), view.provenance(), &window_);
  if (dialog.exec() == QDialog::Accepted) {
    Q_EMIT message(QStringLiteral("Wrote %1").arg(dialog.path()));
  }
}

void FigureActions::copyCommandLines() {
  const QStringList lines = views_.currentView()->commandLines();
  QApplication::clipboard()->setText(lines.join(QLatin1Char('\n')));
  Q_EMIT message(lines.isEmpty() ? QStringLiteral("Nothing to copy")
                                 : QStringLiteral("Copied: %1").arg(lines.front()));
}

void FigureActions::copyImage() {
  QApplication::clipboard()->setPixmap(views_.currentView()->grab());
  Q_EMIT message(QStringLiteral("Copied the image"));
}

}  // namespace lime::explorer
