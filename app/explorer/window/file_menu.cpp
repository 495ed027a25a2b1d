// SPDX-License-Identifier: Apache-2.0
#include "explorer/window/file_menu.h"

#include <QAction>
#include <QCoreApplication>
#include <QFileDialog>
#include <QFileInfo>
#include <algorithm>

#include "explorer/models/text.h"
#include "explorer/models/workspace.h"
#include "explorer/window/session.h"
#include "explorer/window/start_page.h"
#include "viz/figure_source.h"

namespace lime::explorer {

QAction* addMenuAction(QMenu& menu, const QString& text, const QKeySequence& shortcut,
                       const QString& statusTip, const std::function<void()>& run) {
  QAction* const added = menu.addAction(text);
  added->setShortcut(shortcut);
  added->setStatusTip(statusTip);
  QObject::connect(added, &QAction::triggered, &menu, run);
  return added;
}

FileMenu::FileMenu(Workspace& workspace, QWidget* parent)
    : QMenu(QStringLiteral("&File"), parent), workspace_(workspace) {
  addOpenActions();
  addSeparator();
  reload_ = addMenuAction(*this, QStringLiteral("&Reload"), QKeySequence(Qt::Key_F5),
                          QStringLiteral("Reload the current document and all rewritten ones"),
                          [this] { reload(); });
  locate_ = addMenuAction(*this, QStringLiteral("&Locate capture..."), {},
                          QStringLiteral("Select the current path of the capture of open results"),
                          [this] {
                            for (const Document& document : workspace_.documents()) {
                              if (document.missing_captures.empty()) continue;
                              locateCapture(document.id);
                              return;
                            }
                          });
  close_ = addMenuAction(*this, QStringLiteral("&Close"), QKeySequence::Close,
                         QStringLiteral("Close the current document"),
                         [this] { workspace_.close(workspace_.current()); });
  addMenuAction(*this, QStringLiteral("Close &all"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_W),
                QStringLiteral("Close all documents"), [this] { workspace_.closeAll(); });
  for (const auto signal :
       {&Workspace::documentAdded, &Workspace::documentRemoved, &Workspace::documentChanged}) {
    connect(&workspace_, signal, this, &FileMenu::updateLocate);
  }
  connect(&workspace_, &Workspace::recentChanged, this, &FileMenu::updateRecent);
  updateLocate();
  updateRecent();
}

void FileMenu::addOpenActions() {
  addMenuAction(*this, QStringLiteral("&Open..."), QKeySequence::Open,
                QStringLiteral("Open captures, results or training logs"), [this] { openFiles(); });
  addMenuAction(*this, QStringLiteral("Open &checkpoint folder..."),
                QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_O),
                QStringLiteral("Open a folder that contains config.json and weights"),
                [this] { openFolder(); });
  recent_ = addMenu(QStringLiteral("Open &recent"));
  addMenuAction(*this, QStringLiteral("Open the &demo"), {},
                QStringLiteral("Open two small models of arithmetic and their measurements"),
                [this] { openDemo(); });
}

void FileMenu::openDemo() {
  const QStringList demo = findDemo(QCoreApplication::applicationDirPath());
  if (demo.isEmpty()) Q_EMIT notice(QStringLiteral("the demo was not found; run scripts/demo.sh"));
  workspace_.open(demo);
}

void FileMenu::updateLocate() {
  const std::vector<Document>& documents = workspace_.documents();
  locate_->setEnabled(std::any_of(documents.begin(), documents.end(), [](const Document& document) {
    return !document.missing_captures.empty();
  }));
}

void FileMenu::updateRecent() {
  recent_->clear();
  for (const QString& path : workspace_.recent()) {
    QAction* const action = addMenuAction(*recent_, QFileInfo(path).fileName(), {}, path,
                                          [this, path] { workspace_.open({path}); });
    action->setToolTip(path);
  }
  recent_->setEnabled(!recent_->isEmpty());
}

void FileMenu::openFiles() {
  workspace_.open(QFileDialog::getOpenFileNames(
      this, QStringLiteral("Open"), lastFolder(),
      QStringLiteral(
          "Captures, results, logs (*.h5 *.hdf5 *.json *.jsonl *.safetensors);;All (*)")));
}

void FileMenu::openFolder() {
  const QString folder = QFileDialog::getExistingDirectory(
      this, QStringLiteral("Open checkpoint folder"), lastFolder());
  if (!folder.isEmpty()) workspace_.open({folder});
}

void FileMenu::reload() {
  std::vector<int> ids;
  for (const Document& document : workspace_.documents()) {
    const bool is_rewritten = document.state == DocumentState::kRewritten;
    if (document.id == workspace_.current() || is_rewritten) ids.push_back(document.id);
  }
  for (const int id : ids) workspace_.reload(id);
}

void FileMenu::locateCapture(int id) {
  const Document* const document = workspace_.find(id);
  if (document == nullptr || document->missing_captures.empty()) return;
  const ResultsInput& input =
      document->results->results.inputs.at(document->missing_captures.front());
  const QString path = QFileDialog::getOpenFileName(
      this, QStringLiteral("Where is %1 now?").arg(QFileInfo(toQString(input.path)).fileName()),
      toQString(document->path.parent_path()), QStringLiteral("Captures (*.h5 *.hdf5);;All (*)"));
  if (!path.isEmpty()) workspace_.locateCapture(id, path);
}

}  // namespace lime::explorer
