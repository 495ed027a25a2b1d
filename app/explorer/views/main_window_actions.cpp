// SPDX-License-Identifier: Apache-2.0
// Menus of the main window, and what they do.
#include <QAction>
#include <QActionGroup>
#include <QApplication>
#include <QClipboard>
#include <QDesktopServices>
#include <QDockWidget>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenuBar>
#include <QMessageBox>
#include <QSettings>
#include <QStatusBar>
#include <QTreeView>
#include <algorithm>

#include "core/program.h"
#include "explorer/models/text.h"
#include "explorer/views/all_views.h"
#include "explorer/views/export_dialog.h"
#include "explorer/views/main_window.h"
#include "explorer/views/preferences_dialog.h"
#include "explorer/views/session.h"
#include "explorer/views/shortcut_dialog.h"
#include "explorer/views/start_page.h"
#include "viz/figure_source.h"

namespace lime::explorer {

QAction* MainWindow::addTo(QMenu& menu, const QString& text, const QKeySequence& shortcut,
                           const QString& statusTip, const std::function<void()>& action) {
  QAction* const added = menu.addAction(text);
  added->setShortcut(shortcut);
  added->setStatusTip(statusTip);
  connect(added, &QAction::triggered, this, action);
  return added;
}

void MainWindow::makeMenus() {
  makeFileMenu(*menuBar()->addMenu(QStringLiteral("&File")));
  makeEditMenu(*menuBar()->addMenu(QStringLiteral("&Edit")));
  makeViewMenu(*menuBar()->addMenu(QStringLiteral("&View")));
  makeHelpMenu(*menuBar()->addMenu(QStringLiteral("&Help")));
}

void MainWindow::makeFileMenu(QMenu& menu) {
  addTo(menu, QStringLiteral("&Open..."), QKeySequence::Open,
        QStringLiteral("Open captures, results or logs of training"), [this] { openFiles(); });
  addTo(menu, QStringLiteral("Open &checkpoint folder..."),
        QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_O),
        QStringLiteral("Open a folder that holds config.json and weights"),
        [this] { openFolder(); });
  recent_menu_ = menu.addMenu(QStringLiteral("Open &recent"));
  addTo(menu, QStringLiteral("Open the &demo"), {},
        QStringLiteral("Two small models of arithmetic and what was measured of them"), [this] {
          const QStringList demo = findDemo(QCoreApplication::applicationDirPath());
          if (demo.isEmpty()) notice(QStringLiteral("the demo is not there; run scripts/demo.sh"));
          workspace_.open(demo);
        });
  menu.addSeparator();
  QAction* const reload =
      addTo(menu, QStringLiteral("&Reload"), QKeySequence(Qt::Key_F5),
            QStringLiteral("Read the current document anew, and all that were rewritten"),
            [this] { reloadCurrent(); });
  locate_ = addTo(menu, QStringLiteral("&Locate capture..."), {},
                  QStringLiteral("Say where the capture is now that open results were measured on"),
                  [this] {
                    for (const Document& document : workspace_.documents()) {
                      if (document.missing_captures.empty()) continue;
                      locateCapture(document.id);
                      return;
                    }
                  });
  QAction* const close =
      addTo(menu, QStringLiteral("&Close"), QKeySequence::Close,
            QStringLiteral("Close the current document"), [this] { closeCurrent(); });
  addTo(menu, QStringLiteral("Close &all"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_W),
        QStringLiteral("Close all documents"), [this] { workspace_.closeAll(); });
  tree_->addActions({reload, close});
  menu.addSeparator();
  figure_actions_ << addTo(menu, QStringLiteral("&Export figure..."),
                           QKeySequence(Qt::CTRL | Qt::Key_E),
                           QStringLiteral("Write what is shown as PDF, SVG, PNG, CSV or pgfplots"),
                           [this] { exportFigure(); });
  menu.addSeparator();
  addTo(menu, QStringLiteral("&Quit"), QKeySequence::Quit, QStringLiteral("Close the window"),
        [this] { QMainWindow::close(); });
  updateRecentMenu();
  updateFileMenu();
}

void MainWindow::updateFileMenu() {
  const std::vector<Document>& documents = workspace_.documents();
  locate_->setEnabled(std::any_of(documents.begin(), documents.end(), [](const Document& document) {
    return !document.missing_captures.empty();
  }));
}

void MainWindow::makeEditMenu(QMenu& menu) {
  QAction* const undo = undo_.createUndoAction(this, QStringLiteral("&Undo"));
  undo->setShortcut(QKeySequence::Undo);
  QAction* const redo = undo_.createRedoAction(this, QStringLiteral("&Redo"));
  redo->setShortcuts(
      {QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_Z), QKeySequence(Qt::CTRL | Qt::Key_Y)});
  menu.addActions({undo, redo});
  menu.addSeparator();
  figure_actions_ << addTo(
      menu, QStringLiteral("Copy as command &line"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C),
      QStringLiteral("Copy the commands that make this figure without a window"),
      [this] { copyCommandLines(); });
  figure_actions_ << addTo(
      menu, QStringLiteral("Copy &picture"), QKeySequence(Qt::CTRL | Qt::ALT | Qt::Key_C),
      QStringLiteral("Copy what the view shows as a picture"), [this] { copyPicture(); });
  menu.addSeparator();
  addTo(menu, QStringLiteral("&Preferences..."), QKeySequence(Qt::CTRL | Qt::Key_Comma),
        QStringLiteral("Theme, text in plots, numbering of layers"), [this] { editPreferences(); });
}

void MainWindow::makeViewMenu(QMenu& menu) {
  view_menu_ = &menu;
  const std::vector<ViewKind>& kinds = allViews();
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const int index = static_cast<int>(i);
    const QKeySequence shortcut =
        i < 9 ? QKeySequence(Qt::CTRL | static_cast<Qt::Key>(Qt::Key_1 + index)) : QKeySequence();
    addTo(menu, kinds[i].title, shortcut, kinds[i].question, [this, index] {
      showIndex(index);
      focusCentre();
    });
  }
  after_view_actions_ = menu.addSeparator();
  const auto withView = [this](auto action) {
    return [this, action] {
      if (currentView() != nullptr) action(*currentView());
    };
  };
  constexpr double kFactor = 1.5;
  figure_actions_ << addTo(menu, QStringLiteral("Zoom &in"), QKeySequence(Qt::CTRL | Qt::Key_Plus),
                           QStringLiteral("Come nearer"),
                           withView([](View& view) { view.zoom(kFactor); }));
  figure_actions_.last()->setShortcuts(
      {QKeySequence(Qt::CTRL | Qt::Key_Plus), QKeySequence(Qt::CTRL | Qt::Key_Equal)});
  figure_actions_ << addTo(menu, QStringLiteral("Zoom &out"),
                           QKeySequence(Qt::CTRL | Qt::Key_Minus), QStringLiteral("Go back"),
                           withView([](View& view) { view.zoom(1.0 / kFactor); }));
  figure_actions_ << addTo(menu, QStringLiteral("Show &all"), QKeySequence(Qt::CTRL | Qt::Key_0),
                           QStringLiteral("Show all of the figure again"),
                           withView([](View& view) { view.showAll(); }));
  menu.addSeparator();
  QAction* const bar = side_bar_->toggleViewAction();
  bar->setText(QStringLiteral("&Side bar"));
  bar->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_B));
  menu.addAction(bar);
  addTo(menu, QStringLiteral("&Full screen"), QKeySequence(Qt::Key_F11),
        QStringLiteral("The window on all of the screen"),
        [this] { setWindowState(windowState() ^ Qt::WindowFullScreen); });
}

void MainWindow::makeHelpMenu(QMenu& menu) {
  addTo(menu, QStringLiteral("&Shortcuts"), QKeySequence(Qt::Key_F1),
        QStringLiteral("All keys of the window and of this view"), [this] { showShortcuts(); });
  addTo(menu, QStringLiteral("&About"), {}, QStringLiteral("Version and licence"),
        [this] { showAbout(); });
}

void MainWindow::updateViewMenu() {
  View* const view = showsStartPage() ? nullptr : currentView();
  const QList<QAction*> wanted = view == nullptr ? QList<QAction*>() : view->actions();
  if (wanted != shown_view_actions_) {
    for (QAction* const action : std::as_const(shown_view_actions_))
      view_menu_->removeAction(action);
    shown_view_actions_ = wanted;
    view_menu_->insertActions(after_view_actions_, wanted);
  }
  const bool has_figure = view != nullptr && view->figure().has_value();
  for (QAction* const action : std::as_const(figure_actions_)) action->setEnabled(has_figure);
}

void MainWindow::updateRecentMenu() {
  if (recent_menu_ == nullptr) return;
  recent_menu_->clear();
  for (const QString& path : workspace_.recent()) {
    QAction* const action = recent_menu_->addAction(QFileInfo(path).fileName());
    action->setStatusTip(path);
    action->setToolTip(path);
    connect(action, &QAction::triggered, this, [this, path] { workspace_.open({path}); });
  }
  recent_menu_->setEnabled(!recent_menu_->isEmpty());
}

void MainWindow::openFiles() {
  workspace_.open(QFileDialog::getOpenFileNames(
      this, QStringLiteral("Open"), lastFolder(),
      QStringLiteral(
          "Captures, results, logs (*.h5 *.hdf5 *.json *.jsonl *.safetensors);;All (*)")));
}

void MainWindow::openFolder() {
  const QString folder = QFileDialog::getExistingDirectory(
      this, QStringLiteral("Open checkpoint folder"), lastFolder());
  if (!folder.isEmpty()) workspace_.open({folder});
}

void MainWindow::closeCurrent() { workspace_.close(workspace_.current()); }

void MainWindow::reloadCurrent() {
  std::vector<int> ids;
  for (const Document& document : workspace_.documents()) {
    const bool is_rewritten = document.state == DocumentState::kRewritten;
    if (document.id == workspace_.current() || is_rewritten) ids.push_back(document.id);
  }
  for (const int id : ids) workspace_.reload(id);
}

void MainWindow::locateCapture(int id) {
  const Document* const document = workspace_.find(id);
  if (document == nullptr || document->missing_captures.empty()) return;
  const ResultsInput& input =
      document->results->results.inputs.at(document->missing_captures.front());
  const QString path = QFileDialog::getOpenFileName(
      this, QStringLiteral("Where is %1 now?").arg(QFileInfo(toQString(input.path)).fileName()),
      toQString(document->path.parent_path()), QStringLiteral("Captures (*.h5 *.hdf5);;All (*)"));
  if (!path.isEmpty()) workspace_.locateCapture(id, path);
}

void MainWindow::exportFigure() {
  View* const view = currentView();
  if (view == nullptr) return;
  std::optional<Figure> figure = view->figure();
  if (!figure) return;
  ExportDialog dialog(std::move(*figure), view->provenance(), this);
  if (dialog.exec() == QDialog::Accepted) {
    statusBar()->showMessage(QStringLiteral("Wrote %1").arg(dialog.path()), 5000);
  }
}

void MainWindow::copyCommandLines() {
  const View* const view = currentView();
  if (view == nullptr) return;
  const QStringList lines = view->commandLines();
  QApplication::clipboard()->setText(lines.join(QLatin1Char('\n')));
  statusBar()->showMessage(lines.isEmpty() ? QStringLiteral("Nothing to copy")
                                           : QStringLiteral("Copied: %1").arg(lines.front()),
                           5000);
}

void MainWindow::copyPicture() {
  if (currentView() == nullptr) return;
  QApplication::clipboard()->setPixmap(currentView()->grab());
  statusBar()->showMessage(QStringLiteral("Copied the picture"), 5000);
}

void MainWindow::editPreferences() {
  PreferencesDialog dialog(preferences_, this);
  if (dialog.exec() != QDialog::Accepted) return;
  preferences_ = dialog.preferences();
  savePreferences(preferences_);
  applyTheme();
}

void MainWindow::showShortcuts() {
  QList<QAction*> actions;
  for (QAction* const menu : menuBar()->actions()) actions << menu->menu()->actions();
  const bool has_view = !showsStartPage() && currentView() != nullptr;
  ShortcutDialog(actions, has_view ? currentView()->habits() : std::vector<Habit>(), this).exec();
}

void MainWindow::showAbout() {
  QMessageBox::about(
      this, QStringLiteral("lime explorer"),
      QStringLiteral("<b>%1</b><p>Measures representation collapse in transformers, and "
                     "what their routing does about it.</p><p>Apache License 2.0</p>")
          .arg(toQString(std::string_view(tool_version()))));
}

}  // namespace lime::explorer
