// SPDX-License-Identifier: Apache-2.0
#include "explorer/window/main_window.h"

#include <QAbstractAnimation>
#include <QAction>
#include <QApplication>
#include <QCloseEvent>
#include <QDesktopServices>
#include <QDir>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QEventLoop>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenuBar>
#include <QMessageBox>
#include <QMimeData>
#include <QStatusBar>
#include <QTimer>

#include "core/program/program.h"
#include "explorer/capture/capture_dialog.h"
#include "explorer/router/router_view.h"
#include "explorer/widgets/controls.h"
#include "explorer/widgets/notice_bar.h"
#include "explorer/widgets/theme.h"
#include "explorer/window/figure_actions.h"
#include "explorer/window/file_menu.h"
#include "explorer/window/free_name.h"
#include "explorer/window/manual_page.h"
#include "explorer/window/menu_action.h"
#include "explorer/window/navigator_model.h"
#include "explorer/window/preferences_dialog.h"
#include "explorer/window/rename_command.h"
#include "explorer/window/session.h"
#include "explorer/window/shortcut_dialog.h"
#include "explorer/window/side_bar.h"
#include "viz/figure_source.h"

namespace lime::explorer {
namespace {

constexpr int kMaxSteps = 500;  // of undo: each may contain thousands of selected tokens
constexpr int kMessageMs = 5000;

QStringList localPaths(const QMimeData& data) {
  QStringList paths;
  for (const QUrl& url : data.urls()) {
    if (url.isLocalFile()) paths << url.toLocalFile();
  }
  return paths;
}

}  // namespace

MainWindow::MainWindow()
    : preferences_(loadPreferences()),
      desktop_(QApplication::palette()),
      workspace_(jobs_),
      captures_(jobs_),
      views_(new ViewStack({workspace_, jobs_, undo_, preferences_})),
      figure_actions_(new FigureActions(*views_, *this)) {
  setWindowTitle(u"LIMe Explorer"_s);
  setWindowIcon(QIcon(u":/lime-explorer.svg"_s));
  setAcceptDrops(true);
  undo_.setUndoLimit(kMaxSteps);
  workspace_.setMoves(loadMoves());
  makeCentre();
  makeSideBar();
  makeMenus();
  connectWorkspace();
  connectCaptures();
  resize(1280, 720);
  applyTheme();
  views_->showCurrent();
}

MainWindow::~MainWindow() {
  // Views must not be notified of documents that are closed with the window.
  workspace_.disconnect();
  jobs_.disconnect();
  // The list of documents must not outlive them.
  delete side_dock_;
}

void MainWindow::makeCentre() {
  notice_ = new NoticeBar;
  auto* const centre = new QWidget;
  QVBoxLayout* const column = fillWithColumn(*centre);
  column->addWidget(notice_);
  column->addWidget(views_, 1);
  setCentralWidget(centre);
  hover_ = new QLabel;
  hover_->setTextFormat(Qt::PlainText);
  hover_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);  // long lines are cut
  statusBar()->addWidget(hover_, 1);
  statusBar()->setSizeGripEnabled(false);
  connect(views_, &ViewStack::status, this, [this](const QString& text) {
    hover_->setText(text);
    if (!text.isEmpty()) statusBar()->clearMessage();
  });
  connect(views_, &ViewStack::figureChanged, this, &MainWindow::updateActions);
  connect(figure_actions_, &FigureActions::message, this,
          [this](const QString& text) { statusBar()->showMessage(text, kMessageMs); });
}

void MainWindow::makeSideBar() {
  side_bar_ = new SideBar(workspace_, jobs_);
  side_dock_ = new QDockWidget(u"Side bar"_s);
  side_dock_->setObjectName(u"sidebar"_s);
  side_dock_->setWidget(side_bar_);
  side_dock_->setTitleBarWidget(new QWidget);
  side_dock_->setFeatures(QDockWidget::DockWidgetClosable);  // else its action does nothing
  addDockWidget(Qt::LeftDockWidgetArea, side_dock_);
  connect(side_bar_, &SideBar::viewSelected, this, &MainWindow::selectView);
  connect(views_, &ViewStack::currentViewChanged, side_bar_, &SideBar::setCurrentView);
  connect(side_bar_, &SideBar::documentActivated, this, [this](int id) {
    if (const Document* const document = workspace_.find(id)) views_->showViewFor(*document);
  });
}

void MainWindow::selectView(int index) {
  selects_view_ = false;
  keeps_view_ = workspace_.documents().empty();  // it is for the documents that come
  views_->showIndex(index);
}

void MainWindow::makeMenus() {
  file_menu_ = new FileMenu(workspace_, this);
  file_menu_->addSeparator();
  figure_actions_->addExport(*file_menu_);
  file_menu_->addSeparator();
  addMenuAction(*file_menu_, u"&Quit"_s, QKeySequence::Quit, u"Close the window"_s,
                [this] { QMainWindow::close(); });
  side_bar_->addDocumentActions(file_menu_->documentActions());
  connect(file_menu_, &FileMenu::notice, notice_,
          [this](const QString& text) { notice_->showText(text); });
  connect(file_menu_, &FileMenu::reportWritten, notice_, [this](const QString& path) {
    notice_->showText(u"Wrote %1"_s.arg(path), u"&Open"_s, [path] {
      QDesktopServices::openUrl(QUrl::fromLocalFile(QFileInfo(path).absoluteFilePath()));
    });
  });
  StartPage& start = views_->startPage();
  connect(&start, &StartPage::openWanted, file_menu_, &FileMenu::openFiles);
  connect(&start, &StartPage::openFolderWanted, file_menu_, &FileMenu::openFolder);
  connect(&start, &StartPage::openPaths, &workspace_, &Workspace::open);
  connect(&start, &StartPage::questionAsked, this, &MainWindow::showAnswer);
  menuBar()->addMenu(file_menu_);
  for (QMenu* const menu : {makeEditMenu(), makeViewMenu(), makeHelpMenu()}) {
    menuBar()->addMenu(menu);
  }
}

QMenu* MainWindow::makeEditMenu() {
  auto* const menu = new QMenu(u"&Edit"_s, this);
  QAction* const undo = undo_.createUndoAction(this, u"&Undo"_s);
  undo->setShortcut(QKeySequence::Undo);
  QAction* const redo = undo_.createRedoAction(this, u"&Redo"_s);
  redo->setShortcuts(
      {QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_Z), QKeySequence(Qt::CTRL | Qt::Key_Y)});
  menu->addActions({undo, redo});
  menu->addSeparator();
  figure_actions_->addCopy(*menu);
  menu->addSeparator();
  addMenuAction(*menu, u"&Preferences..."_s, QKeySequence(Qt::CTRL | Qt::Key_Comma),
                u"Theme, text size of plots, numbering of layers"_s, [this] { editPreferences(); });
  return menu;
}

QMenu* MainWindow::makeViewMenu() {
  view_menu_ = new QMenu(u"&View"_s, this);
  const std::vector<ViewKind>& kinds = allViews();
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const int index = static_cast<int>(i);
    addMenuAction(*view_menu_, kinds[i].title,
                  QKeySequence(Qt::CTRL | static_cast<Qt::Key>(Qt::Key_1 + index)),
                  kinds[i].question, [this, index] {
                    selectView(index);
                    views_->takeFocus();
                  });
  }
  after_view_actions_ = view_menu_->addSeparator();
  figure_actions_->addZoom(*view_menu_);
  view_menu_->addSeparator();
  QAction* const bar = side_dock_->toggleViewAction();
  bar->setText(u"&Side bar"_s);
  bar->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_B));
  view_menu_->addAction(bar);
  addMenuAction(*view_menu_, u"&Full screen"_s, QKeySequence(Qt::Key_F11), u"Toggle full screen"_s,
                [this] { setWindowState(windowState() ^ Qt::WindowFullScreen); });
  return view_menu_;
}

QMenu* MainWindow::makeHelpMenu() {
  auto* const menu = new QMenu(u"&Help"_s, this);
  addMenuAction(*menu, u"&Manual"_s, QKeySequence(Qt::SHIFT | Qt::Key_F1),
                u"Read the documentation of the explorer"_s, [this] { showManual(); });
  addMenuAction(*menu, u"&Shortcuts"_s, QKeySequence(Qt::Key_F1),
                u"List all shortcuts of the explorer and of this view"_s,
                [this] { showShortcuts(); });
  addMenuAction(*menu, u"&About"_s, {}, u"Show version and licence"_s, [this] { showAbout(); });
  return menu;
}

void MainWindow::connectWorkspace() {
  connect(&workspace_, &Workspace::documentAdded, this, [this](int id) {
    views_->showCurrent();
    // The first documents select the view, unless the session has.
    if (workspace_.documents().size() == 1) selects_view_ = !std::exchange(keeps_view_, false);
    const Document& added = *workspace_.find(id);
    // One that was dropped into a view that cannot show it would seem to be ignored.
    const bool is_dropped = dropped_.removeAll(toQString(added.path)) > 0;
    const bool is_hidden = is_dropped && !views_->currentKind().shows(added);
    if (selects_view_) {
      views_->showBestView();
    } else if (is_hidden) {
      views_->showViewFor(added);
    }
    offerToLocate(*workspace_.find(id));
    if (toQString(workspace_.find(id)->path) == awaited_) showCaptured();
  });
  connect(&workspace_, &Workspace::allOpened, this, [this] {
    if (std::exchange(selects_view_, false)) offerToCapture();
  });
  connect(&workspace_, &Workspace::documentRemoved, views_, [this] {
    views_->showCurrent();
    if (workspace_.documents().empty()) notice_->hide();  // it was about one of them
  });
  connect(&workspace_, &Workspace::documentChanged, this, &MainWindow::onDocumentChanged);
  connect(&side_bar_->navigator(), &NavigatorModel::renamed, this,
          [this](int id, const QString& before, const QString& after) {
            undo_.push(new RenameCommand(workspace_, id, before, after));
          });
  connect(&workspace_, &Workspace::textOpened, this, &MainWindow::openText);
  connect(&workspace_, &Workspace::openFailed, this,
          [this](const QString& message) { notice_->showText(message); });
  connect(&jobs_, &JobRunner::jobFailed, this, [this](const QString& title, const QString& error) {
    notice_->showText(u"%1: %2"_s.arg(title, error));
  });
  connect(&workspace_, &Workspace::recentChanged, this,
          [this] { views_->startPage().setRecent(workspace_.recent()); });
}

void MainWindow::connectCaptures() {
  connect(file_menu_->captureAction(), &QAction::triggered, this, &MainWindow::captureText);
  connect(file_menu_->measureAction(), &QAction::triggered, this, &MainWindow::measureCaptures);
  connect(views_, &ViewStack::emptyViewShown, this, &MainWindow::offerToFill);
  connect(&views_->offerPage(), &OfferPage::openWanted, file_menu_, &FileMenu::openFiles);
  for (const View* const view : views()) {
    connect(view, &View::viewRequested, this, [this] { captureWords(); });
  }
  connect(&captures_, &CaptureRun::finished, this, [this](const QStringList& files) {
    statusBar()->showMessage(u"Wrote %1"_s.arg(files.join(u", "_s)), kMessageMs);
    awaited_ = QFileInfo(files.back()).absoluteFilePath();
    workspace_.open(files);
  });
  connect(&captures_, &CaptureRun::failed, this, [this](const QString& problem) {
    notice_->showText(problem, u"&Capture..."_s, [this] { captureText(); });
  });
}

void MainWindow::showAnswer(const Question& question, const Finding& finding) {
  workspace_.numberModels(answeringModels());
  views_->showView(question.view);
  keeps_view_ = true;
  std::vector<StoredDocument> files;
  for (const QString& path : pathsOf(question)) files.push_back({.path = path});
  // By value: the page may show others when the files are open.
  const Json state = {{question.view.toStdString(), finding.state}};
  workspace_.reopen(files, [this, state, sentence = finding.sentence](const QStringList& problems) {
    if (!state.front().is_null()) views_->setStates(state);
    notice_->showText(problems.isEmpty() ? sentence : problems.join(u'\n'));
  });
}

void MainWindow::offerToCapture() {
  const std::vector<Document>& open = workspace_.documents();
  const bool is_plain = !open.empty() && std::ranges::all_of(open, [](const Document& document) {
    return document.checkpoint && !RouterView::hasRouters(document);
  });
  if (!is_plain || notice_->isVisible()) return;
  notice_->showText(
      u"To see where the model collapses, how its tokens cluster and what is decodable, capture a "
      u"text (Ctrl+T)"_s,
      u"Capture..."_s, [this] { captureText(); });
}

void MainWindow::offerToFill() {
  const ViewKind& kind = views_->currentKind();
  QAction* action = file_menu_->openFolderAction();
  if (kind.need == Need::kResults && file_menu_->measureAction()->isEnabled()) {
    action = file_menu_->measureAction();
  } else if (needsCapture(kind.need) && file_menu_->captureAction()->isEnabled()) {
    action = file_menu_->captureAction();
  }
  views_->offerPage().offer(kind.question, explanationOf(kind.need), action);
}

void MainWindow::openText(const QString& path) {
  capture_.text.clear();
  capture_.text_file = path;
  for (View* const view : views()) view->openText(path);
  notice_->showText(
      u"'%1' is ready to be captured, and is the text of the Interventions view"_s.arg(path),
      u"&Capture..."_s, [this] { captureText(); });
}

void MainWindow::captureWords() {
  if (views_->currentKind().need != Need::kWords || views_->showsView()) return;
  captured_view_ = views_->currentKind().id;
  try {
    captures_.captureWords();
  } catch (const Error& error) {
    notice_->showText(toQString(error));
  }
}

void MainWindow::captureText() {
  const ViewKind& kind = views_->currentKind();
  captured_view_ = needsCapture(kind.need) ? kind.id : u"collapse"_s;
  capture_.form.only_words = kind.need == Need::kWords;
  capture_.measures_entropy = kind.need == Need::kResults;
  capture_.threads = preferences_.threads;
  capture_.models.clear();
  for (const Document* const document : workspace_.documentsOf(DocumentKind::kCheckpoint)) {
    capture_.models.push_back({workspace_.uniqueLabel(*document), toQString(document->path)});
  }
  capture_.output = freeName(u"capture"_s, u".h5"_s);
  CaptureDialog dialog(captures_, capture_, this);
  if (dialog.exec() == QDialog::Accepted) notice_->hide();  // it may be the offer
  capture_ = dialog.request();
}

void MainWindow::measureCaptures() {
  captured_view_ = u"results"_s;
  const QString output = QFileDialog::getSaveFileName(
      this, u"Measure the entropy"_s, freeName(u"entropy"_s, u".json"_s), u"Results (*.json)"_s);
  if (output.isEmpty()) return;
  QStringList captures;
  for (const Document* const document : workspace_.documentsOf(DocumentKind::kCapture)) {
    captures << toQString(document->path);
  }
  captures_.measure(captures, output, preferences_.threads);
}

void MainWindow::showCaptured() {
  awaited_.clear();
  views_->showView(captured_view_);
  currentView()->fill();
}

void MainWindow::updateActions() {
  if (view_menu_ == nullptr) return;
  const QList<QAction*> list = views_->showsView() ? currentView()->actions() : QList<QAction*>();
  if (list != shown_view_actions_) {
    for (QAction* const action : std::as_const(shown_view_actions_)) {
      view_menu_->removeAction(action);
    }
    shown_view_actions_ = list;
    view_menu_->insertActions(after_view_actions_, list);
  }
  figure_actions_->update();
  side_bar_->navigator().setObstacles(std::bind_front(&ViewStack::obstacle, views_));
}

void MainWindow::onDocumentChanged(int id) {
  const Document* const document = workspace_.find(id);
  if (document == nullptr) return;
  const QString path = toQString(document->path);
  if (document->state == DocumentState::kPresent) {
    if (notice_->document() == id) notice_->hide();
    offerToLocate(*document);
    return;
  }
  notice_->showDocument(
      id, document->state == DocumentState::kMissing
              ? u"'%1' was deleted or moved; loaded data stays visible"_s.arg(path)
              : u"'%1' was rewritten; press F5 (File > Reload) to reload it"_s.arg(path));
}

void MainWindow::offerToLocate(const Document& document) {
  if (document.missing_captures.empty()) return;
  const ResultsInput& input =
      document.results->results.inputs.at(document.missing_captures.front());
  notice_->showText(
      u"'%1', the source of %2, no longer exists; locate it to see sentences and neighbours"_s.arg(
          toQString(input.path), document.label),
      u"&Locate..."_s, [this, id = document.id] { file_menu_->locateCapture(id); });
}

void MainWindow::applyTheme() {
  const QPalette palette = paletteFor(preferences_.theme, desktop_);
  QApplication::setPalette(palette);
  // An unchecked box would be as dark as its background.
  QPalette boxes = palette;
  if (isDark(palette)) boxes.setColor(QPalette::Base, palette.color(QPalette::Mid));
  QApplication::setPalette(boxes, "QCheckBox");
  // Fields would have no visible edges.
  QPalette fields = palette;
  if (isDark(palette)) fields.setColor(QPalette::Base, palette.color(QPalette::Button));
  for (const char* const field : {"QLineEdit", "QAbstractSpinBox"}) {
    QApplication::setPalette(fields, field);
  }
  std::vector<QWidget*> painted(views().begin(), views().end());
  painted.push_back(side_bar_);
  for (QWidget* const widget : painted) {
    QEvent changed(QEvent::PaletteChange);
    QCoreApplication::sendEvent(widget, &changed);
  }
}

void MainWindow::changeEvent(QEvent* event) {
  // A desktop that turns dark while the window is open.
  if (event->type() == QEvent::ThemeChange) {
    desktop_ = QApplication::style()->standardPalette();
    applyTheme();
  }
  QMainWindow::changeEvent(event);
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (!localPaths(*event->mimeData()).isEmpty()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  const QStringList paths = localPaths(*event->mimeData());
  for (const QString& path : paths) dropped_ << QFileInfo(path).absoluteFilePath();
  workspace_.open(paths);
  event->acceptProposedAction();
}

void MainWindow::closeEvent(QCloseEvent* event) {
  saveLayout(*this, workspace_);
  // The stored session is the better one until it is restored.
  if (!is_restoring_) saveSession(views_->currentKind().id, views(), workspace_);
  jobs_.cancelAll();
  QMainWindow::closeEvent(event);
}

void MainWindow::restoreLayout() { loadLayout(*this, workspace_); }

void MainWindow::restoreSession() {
  if (!preferences_.restore_session) return;
  is_restoring_ = true;
  const QString view = loadSession(workspace_, views(), [this](const QStringList& problems) {
    is_restoring_ = false;
    if (problems.isEmpty()) return;
    notice_->showText(u"Not restored from the last session:\n%1"_s.arg(problems.join(u'\n')));
  });
  keeps_view_ = !jobs_.isIdle();  // documents are being opened
  views_->showView(view);
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
  ShortcutDialog(actions,
                 views_->showsView() ? currentView()->shortcuts() : std::vector<Shortcut>(), this)
      .exec();
}

void MainWindow::showManual() {
  const QString page = manualPage(u"explorer.md"_s);
  if (!page.isEmpty()) {
    showPage(page, {}, this);
  } else {
    notice_->showText(u"docs/explorer.md: not found; install it with 'cmake --install'"_s);
  }
}

void MainWindow::showAbout() {
  QMessageBox::about(
      this, windowTitle(),
      u"<b>%1</b><p>Measures representation collapse in transformers, and how routing affects "
      u"it.</p><p>Apache License 2.0</p>"_s.arg(toQString(std::string_view(tool_version()))));
}

void MainWindow::finishJobs() {
  constexpr int kCheckMs = 20;
  QEventLoop loop;
  QTimer timer;
  connect(&timer, &QTimer::timeout, &loop, [&] {
    const QList<QAbstractAnimation*> moving = findChildren<QAbstractAnimation*>();
    const bool is_moving = std::any_of(moving.begin(), moving.end(), [](const auto* item) {
      return item->state() == QAbstractAnimation::Running;
    });
    if (jobs_.isIdle() && !is_moving) loop.quit();
  });
  timer.start(kCheckMs);
  loop.exec();
}

}  // namespace lime::explorer
