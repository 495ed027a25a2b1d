// SPDX-License-Identifier: Apache-2.0
#include "explorer/window/file_menu.h"

#include <QAction>
#include <QFileDialog>
#include <QFileInfo>
#include <QKeySequence>
#include <QProcess>
#include <QWidget>
#include <algorithm>
#include <vector>

#include "explorer/models/document.h"
#include "explorer/models/workspace.h"
#include "explorer/window/menu_action.h"
#include "explorer/window/session.h"
#include "explorer/window/start_page.h"
#include "store/results_file.h"
#include "viz/figure_source.h"

namespace lime::explorer {

FileMenu::FileMenu(Workspace& workspace, QWidget* parent)
    : QMenu(u"&File"_s, parent), workspace_(workspace) {
  addOpenActions();
  addSeparator();
  reload_ =
      addMenuAction(*this, u"&Reload"_s, QKeySequence(Qt::Key_F5),
                    u"Reload the current document and all rewritten ones"_s, [this] { reload(); });
  locate_ = addMenuAction(*this, u"&Locate capture..."_s, {},
                          u"Select the current path of the capture of open results"_s,
                          [this] { locateCapture(incompleteResults()); });
  report_ = addMenuAction(*this, u"Write a r&eport..."_s, {},
                          u"Write the figures of all open results into one HTML file"_s, [this] {
                            const QString path = QFileDialog::getSaveFileName(
                                this, u"Write a report"_s, u"report.html"_s, u"HTML (*.html)"_s);
                            if (!path.isEmpty()) writeReport(path);
                          });
  close_ = addMenuAction(*this, u"&Close"_s, QKeySequence::Close, u"Close the current document"_s,
                         [this] { workspace_.close(workspace_.current()); });
  addMenuAction(*this, u"Close &all"_s, QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_W),
                u"Close all documents"_s, [this] { workspace_.closeAll(); });
  for (const auto signal :
       {&Workspace::documentAdded, &Workspace::documentRemoved, &Workspace::documentChanged}) {
    connect(&workspace_, signal, this, &FileMenu::updateActions);
  }
  connect(&workspace_, &Workspace::recentChanged, this, &FileMenu::updateRecent);
  updateActions();
  updateRecent();
}

void FileMenu::addOpenActions() {
  addMenuAction(*this, u"&Open..."_s, QKeySequence::Open,
                u"Open captures, results or training logs"_s, [this] { openFiles(); });
  open_folder_ = addMenuAction(
      *this, u"Open &checkpoint folder..."_s, QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_O),
      u"Open a folder that contains config.json and weights"_s, [this] { openFolder(); });
  recent_ = addMenu(u"Open &recent"_s);
  addMenuAction(*this, u"Open the &demo"_s, {},
                u"Open four small models, their captures and their measurements"_s,
                [this] { openDemo(); });
  addSeparator();
  capture_ =
      addMenuAction(*this, u"Capture a &text..."_s, QKeySequence(Qt::CTRL | Qt::Key_T),
                    u"Run a text through the open checkpoints and store their activations"_s, {});
  measure_ = addMenuAction(*this, u"&Measure the entropy of open captures..."_s, {},
                           u"Run lime-metrics entropy and open its results"_s, {});
}

void FileMenu::writeReport(const QString& path) {
  QStringList arguments = {u"report"_s, u"-o"_s, path};
  for (const Document& document : workspace_.documents()) {
    if (document.results) arguments << toQString(document.path);
  }
  auto* const process = new QProcess(this);
  connect(process, &QProcess::errorOccurred, this, [this, process] {
    Q_EMIT notice(u"lime-figure: %1; build or install it first"_s.arg(process->errorString()));
    process->deleteLater();
  });
  connect(process, &QProcess::finished, this, [this, process, path](int status) {
    if (status == 0) Q_EMIT reportWritten(path);
    if (status != 0) Q_EMIT notice(QString::fromUtf8(process->readAllStandardError()).trimmed());
    process->deleteLater();
  });
  process->start(findProgram(u"lime-figure"_s), arguments);
}

void FileMenu::openDemo() {
  const QStringList demo = findDemo();
  if (demo.isEmpty()) Q_EMIT notice(u"the demo was not found; run scripts/demo.sh"_s);
  workspace_.open(demo);
}

void FileMenu::updateActions() {
  capture_->setEnabled(!workspace_.documentsOf(DocumentKind::kCheckpoint).empty());
  measure_->setEnabled(!workspace_.documentsOf(DocumentKind::kCapture).empty());
  report_->setEnabled(!workspace_.documentsOf(DocumentKind::kResults).empty());
  locate_->setEnabled(incompleteResults() != 0);
}

int FileMenu::incompleteResults() const {
  const auto found = std::ranges::find_if(workspace_.documents(), [](const Document& document) {
    return !document.missing_captures.empty();
  });
  return found == workspace_.documents().end() ? 0 : found->id;
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
      this, u"Open"_s, lastFolder(),
      u"Checkpoints, captures, results, texts (*.h5 *.hdf5 *.json *.jsonl *.safetensors *.gguf *.txt);;All (*)"_s));
}

void FileMenu::openFolder() {
  const QString folder =
      QFileDialog::getExistingDirectory(this, u"Open checkpoint folder"_s, lastFolder());
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
      this, u"Locate %1"_s.arg(QFileInfo(toQString(input.path)).fileName()),
      toQString(document->path.parent_path()), u"Captures (*.h5 *.hdf5);;All (*)"_s);
  if (!path.isEmpty()) workspace_.locateCapture(id, path);
}

}  // namespace lime::explorer
