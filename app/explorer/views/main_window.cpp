// SPDX-License-Identifier: Apache-2.0
#include "explorer/views/main_window.h"

#include <QApplication>
#include <QCloseEvent>
#include <QDir>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QEventLoop>
#include <QLabel>
#include <QListWidget>
#include <QMimeData>
#include <QSettings>
#include <QStackedWidget>
#include <QStatusBar>
#include <QTimer>
#include <QTreeView>
#include <QUndoCommand>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "core/errors.h"
#include "core/suggest.h"
#include "core/utf8.h"
#include "explorer/models/text.h"
#include "explorer/models/token_rows.h"
#include "explorer/views/all_views.h"
#include "explorer/views/job_panel.h"
#include "explorer/views/navigator_delegate.h"
#include "explorer/views/notice_bar.h"
#include "explorer/views/session.h"
#include "explorer/views/start_page.h"
#include "explorer/views/theme.h"
#include "viz/figure_source.h"

namespace lime::explorer {
namespace {

constexpr int kSideBarWidth = 236;
/// Steps may hold thousands of tokens that were chosen.
constexpr int kMostSteps = 500;

QLabel* caption(const QString& text) {
  auto* const label = new QLabel(text);
  QFont font = label->font();
  font.setPointSizeF(0.88 * font.pointSizeF());
  font.setWeight(QFont::DemiBold);
  label->setFont(font);
  label->setForegroundRole(QPalette::PlaceholderText);
  label->setContentsMargins(12, 10, 12, 4);
  return label;
}

/// @throws InvalidArgument  if `json` is no object, or has a name that is not among `known`.
void checkNames(const Json& json, const std::vector<std::string>& known, const std::string& where) {
  if (!json.is_object()) {
    throw InvalidArgument("{}: must be an object of names and values, got {}", where,
                          printable(json.dump()));
  }
  for (const auto& [name, value] : json.items()) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    throw InvalidArgument("{}: has no '{}'; it has {}", where, printable(name), join_words(known));
  }
}

/// A list or tree whose lines begin where the captions above do.
template <typename List>
class Indented : public List {
 public:
  explicit Indented(int left) { this->setViewportMargins(left, 0, 6, 0); }
};

/// A document that somebody has given another name.
class RenameCommand : public QUndoCommand {
 public:
  RenameCommand(Workspace& workspace, int id, QString before, QString after)
      : QUndoCommand(QStringLiteral("Rename %1").arg(before)),
        workspace_(workspace),
        id_(id),
        before_(std::move(before)),
        after_(std::move(after)) {}

  void undo() override { workspace_.rename(id_, before_); }
  /// Has no effect when it is pushed: the name is there already.
  void redo() override { workspace_.rename(id_, after_); }

 private:
  Workspace& workspace_;
  int id_;
  QString before_;
  QString after_;
};

QStringList localPaths(const QMimeData& data) {
  QStringList paths;
  for (const QUrl& url : data.urls()) {
    if (url.isLocalFile()) paths << url.toLocalFile();
  }
  return paths;
}

}  // namespace

MainWindow::MainWindow()
    : desktop_(QApplication::palette()), workspace_(jobs_), navigator_(workspace_) {
  setWindowTitle(QStringLiteral("lime explorer"));
  setAcceptDrops(true);
  undo_.setUndoLimit(kMostSteps);
  loadPreferences(preferences_);
  workspace_.setMoves(loadMoves());
  makeCentre();
  makeSideBar();
  makeViews();
  makeMenus();
  connectWorkspace();
  resize(1280, 720);
  applyTheme();
  updateCentre();
}

MainWindow::~MainWindow() {
  // Views must not hear of documents that are closed with the window.
  workspace_.disconnect();
  jobs_.disconnect();
}

void MainWindow::makeCentre() {
  auto* const centre = new QWidget;
  auto* const column = new QVBoxLayout(centre);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  notice_ = new NoticeBar;
  centre_ = new QStackedWidget;
  centre_->setBackgroundRole(QPalette::Base);
  centre_->setAutoFillBackground(true);
  start_ = new StartPage;
  start_->setDemo(findDemo(QCoreApplication::applicationDirPath()));
  centre_->addWidget(start_);
  column->addWidget(notice_);
  column->addWidget(centre_, 1);
  setCentralWidget(centre);
  connect(start_, &StartPage::openWanted, this, &MainWindow::openFiles);
  connect(start_, &StartPage::openFolderWanted, this, &MainWindow::openFolder);
  connect(start_, &StartPage::openPaths, &workspace_, &Workspace::open);
  hover_ = new QLabel;
  hover_->setTextFormat(Qt::PlainText);
  statusBar()->addPermanentWidget(hover_, 1);
  statusBar()->setSizeGripEnabled(false);
}

void MainWindow::makeSideBar() {
  view_list_ = new Indented<QListWidget>(9);
  view_list_->setFrameShape(QFrame::NoFrame);
  view_list_->setAccessibleName(QStringLiteral("views"));
  view_list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  tree_ = new Indented<QTreeView>(2);
  tree_->setIndentation(16);
  tree_->setFrameShape(QFrame::NoFrame);
  tree_->setModel(&navigator_);
  tree_->setItemDelegate(new NavigatorDelegate(tree_));
  tree_->setHeaderHidden(true);
  tree_->setAccessibleName(QStringLiteral("open checkpoints, captures and results"));
  tree_->setContextMenuPolicy(Qt::ActionsContextMenu);
  tree_->setEditTriggers(QAbstractItemView::EditKeyPressed);
  for (int kind = 0; kind < navigator_.rowCount(); ++kind) {
    tree_->expand(navigator_.index(kind, 0));
  }
  auto* const content = new QWidget;
  auto* const column = new QVBoxLayout(content);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(caption(QStringLiteral("VIEWS")));
  column->addWidget(view_list_);
  column->addWidget(caption(QStringLiteral("OPEN")));
  column->addWidget(tree_, 1);
  column->addWidget(new JobPanel(jobs_));
  side_bar_ = new QDockWidget(QStringLiteral("Side bar"));
  side_bar_->setObjectName(QStringLiteral("sidebar"));
  side_bar_->setWidget(content);
  side_bar_->setTitleBarWidget(new QWidget);
  side_bar_->setFeatures(QDockWidget::NoDockWidgetFeatures);
  addDockWidget(Qt::LeftDockWidgetArea, side_bar_);
  resizeDocks({side_bar_}, {kSideBarWidth}, Qt::Horizontal);
  connect(view_list_, &QListWidget::currentRowChanged, this, &MainWindow::showIndex);
  connect(tree_->selectionModel(), &QItemSelectionModel::currentChanged, this,
          [this](const QModelIndex& index) {
            const int id = index.data(NavigatorModel::IdRole).toInt();
            if (id != 0) workspace_.setCurrent(id);
          });
  connect(tree_, &QTreeView::activated, this, [this](const QModelIndex& index) {
    const Document* const document = workspace_.find(index.data(NavigatorModel::IdRole).toInt());
    if (document != nullptr) showViewFor(*document);
  });
}

void MainWindow::makeViews() {
  const ViewContext context{workspace_, jobs_, undo_, preferences_};
  int number = 0;
  for (const ViewKind& kind : allViews()) {
    View* const view = kind.make(context, nullptr);
    views_.push_back(view);
    centre_->addWidget(view);
    auto* const item = new QListWidgetItem(kind.title, view_list_);
    ++number;
    item->setToolTip(QStringLiteral("%1 (Ctrl+%2)").arg(kind.question).arg(number));
    item->setSizeHint(QSize(0, fontMetrics().height() + 12));
    connect(view, &View::status, hover_, &QLabel::setText);
    connect(view, &View::stateRestored, this, [this, index = number - 1] { showIndex(index); });
    connect(view, &View::figureChanged, this, [this, view] {
      if (view == currentView()) updateViewMenu();
    });
  }
  view_list_->setFixedHeight(number * (fontMetrics().height() + 12) + 4);
  const QSignalBlocker quiet(view_list_);
  view_list_->setCurrentRow(0);
}

void MainWindow::connectWorkspace() {
  const auto update = [this] { updateCentre(); };
  connect(&workspace_, &Workspace::documentAdded, this, [this, update](int id) {
    update();
    const QModelIndex index = navigator_.indexOfDocument(id);
    tree_->expand(index.parent());
    // The first document opened chooses the view.
    if (workspace_.documents().size() == 1) showViewFor(*workspace_.find(id));
  });
  connect(&navigator_, &NavigatorModel::renamed, this,
          [this](int id, const QString& before, const QString& after) {
            undo_.push(new RenameCommand(workspace_, id, before, after));
          });
  connect(&workspace_, &Workspace::documentAdded, this,
          [this](int id) { offerToLocate(*workspace_.find(id)); });
  connect(&workspace_, &Workspace::documentRemoved, this, [this, update] {
    update();
    updateFileMenu();
  });
  connect(&workspace_, &Workspace::currentChanged, this, [this](int id) {
    const QModelIndex index = navigator_.indexOfDocument(id);
    const int shown = tree_->currentIndex().data(NavigatorModel::IdRole).toInt();
    if (index.isValid() && shown != id) tree_->setCurrentIndex(index);
  });
  connect(&workspace_, &Workspace::documentChanged, this, [this](int id) {
    const Document* const document = workspace_.find(id);
    if (document == nullptr) return;
    if (document->state == DocumentState::kPresent) {
      offerToLocate(*document);
      return;
    }
    const QString path = toQString(document->path);
    notice(document->state == DocumentState::kMissing
               ? QStringLiteral("'%1' is no longer there; what is shown was read before").arg(path)
               : QStringLiteral("'%1' was rewritten; File > Reload (F5) shows what it is now")
                     .arg(path));
  });
  connect(&workspace_, &Workspace::openFailed, this,
          [this](const QString&, const QString& message) { notice(message); });
  connect(&jobs_, &JobRunner::jobFailed, this, [this](const QString& title, const QString& error) {
    notice(QStringLiteral("%1: %2").arg(title, error));
  });
  connect(&workspace_, &Workspace::recentChanged, this, [this] {
    start_->setRecent(workspace_.recent());
    updateRecentMenu();
  });
}

View* MainWindow::currentView() const {
  return views_.empty() ? nullptr : views_[static_cast<std::size_t>(current_view_)];
}

bool MainWindow::showsStartPage() const { return centre_->currentWidget() == start_; }

void MainWindow::showIndex(int index) {
  if (index < 0 || index >= static_cast<int>(views_.size())) return;
  current_view_ = index;
  if (view_list_->currentRow() != index) {
    const QSignalBlocker quiet(view_list_);
    view_list_->setCurrentRow(index);
  }
  updateCentre();
}

void MainWindow::showView(const QString& id) {
  const std::vector<ViewKind>& kinds = allViews();
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i].id == id) showIndex(static_cast<int>(i));
  }
}

void MainWindow::showViewFor(const Document& document) {
  const std::vector<ViewKind>& kinds = allViews();
  if (kinds[static_cast<std::size_t>(current_view_)].shows(document)) return;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (!kinds[i].shows(document)) continue;
    showIndex(static_cast<int>(i));
    return;
  }
}

void MainWindow::updateCentre() {
  QWidget* const wanted = workspace_.isEmpty() || currentView() == nullptr
                              ? static_cast<QWidget*>(start_)
                              : currentView();
  if (centre_->currentWidget() != wanted) {
    const bool had_focus = centre_->isAncestorOf(QApplication::focusWidget());
    centre_->setCurrentWidget(wanted);
    hover_->clear();
    if (had_focus) focusCentre();
  }
  updateViewMenu();
}

void MainWindow::focusCentre() {
  if (showsStartPage()) {
    start_->setFocus();
  } else {
    currentView()->takeFocus();
  }
}

void MainWindow::offerToLocate(const Document& document) {
  updateFileMenu();
  if (document.missing_captures.empty()) return;
  const ResultsInput& input =
      document.results->results.inputs.at(document.missing_captures.front());
  notice_->showText(
      QStringLiteral("'%1', of which %2 was measured, is no longer there; its sentences and "
                     "neighbours are shown once it is located")
          .arg(toQString(input.path), document.label),
      QStringLiteral("&Locate..."), [this, id = document.id] { locateCapture(id); });
}

void MainWindow::notice(const QString& text) { notice_->showText(text); }

void MainWindow::setTheme(ThemeChoice theme) {
  preferences_.theme = theme;
  applyTheme();
}

void MainWindow::applyTheme() {
  const QPalette palette = paletteFor(preferences_.theme, desktop_);
  QApplication::setPalette(palette);
  // Else the box that is not checked would be as dark as its ground.
  QPalette boxes = palette;
  if (isDark(palette)) boxes.setColor(QPalette::Base, palette.color(QPalette::Mid));
  QApplication::setPalette(boxes, "QCheckBox");
  // And fields would have no edges.
  QPalette fields = palette;
  if (isDark(palette)) fields.setColor(QPalette::Base, palette.color(QPalette::Button));
  for (const char* const field : {"QLineEdit", "QAbstractSpinBox"}) {
    QApplication::setPalette(fields, field);
  }
  view_list_->setPalette(sideBarPalette(palette));
  tree_->setPalette(sideBarPalette(palette));
  for (View* const view : views_) {
    QEvent changed(QEvent::PaletteChange);
    QCoreApplication::sendEvent(view, &changed);
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
  workspace_.open(localPaths(*event->mimeData()));
  event->acceptProposedAction();
}

void MainWindow::closeEvent(QCloseEvent* event) {
  saveSession();
  jobs_.cancelAll();
  QMainWindow::closeEvent(event);
}

void MainWindow::checkStates(const Json& states) const {
  std::vector<std::string> ids = {"selection"};
  const std::vector<ViewKind>& kinds = allViews();
  for (const ViewKind& kind : kinds) ids.push_back(kind.id.toStdString());
  checkNames(states, ids, "state");
  if (states.contains("selection")) {
    checkNames(states.at("selection"), {"layer", "rows"}, "state: selection");
  }
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const std::string id = kinds[i].id.toStdString();
    if (!states.contains(id)) continue;
    std::vector<std::string> known;
    const Json state = views_[i]->state();
    for (const auto& [name, value] : state.items()) known.push_back(name);
    for (const std::string& name : views_[i]->furtherNames()) {
      if (!state.contains(name)) known.push_back(name);
    }
    checkNames(states.at(id), known, "state: " + id);
  }
}

void MainWindow::setStates(const Json& states) {
  checkStates(states);
  if (states.contains("selection")) {
    const Json& selected = states.at("selection");
    Selection selection = workspace_.selection();
    if (selected.contains("layer")) selection.layer = selected.at("layer").get<int>();
    const std::vector<const Document*> captures = workspace_.documentsOf(DocumentKind::kCapture);
    if (selected.contains("rows") && !captures.empty()) {
      selection.tokens = tokensAt(*captures.front()->capture,
                                  selected.at("rows").get<std::vector<std::int64_t>>());
    }
    workspace_.setSelection(selection);
  }
  const std::vector<ViewKind>& kinds = allViews();
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const std::string id = kinds[i].id.toStdString();
    if (states.contains(id)) views_[i]->setState(states.at(id));
  }
}

void MainWindow::finishJobs() {
  constexpr int kLookMs = 20;
  QEventLoop loop;
  QTimer look;
  connect(&look, &QTimer::timeout, &loop, [&] {
    if (jobs_.isIdle()) loop.quit();
  });
  look.start(kLookMs);
  loop.exec();
}

void MainWindow::saveScreenshots(const QString& folder) {
  if (!QDir().mkpath(folder)) {
    throw IoError("'{}': folder cannot be made", folder.toStdString());
  }
  const auto save = [&](const QString& name) {
    const QString path = QDir(folder).filePath(name + QStringLiteral(".png"));
    if (!grab().save(path)) throw IoError("'{}': cannot be written", path.toStdString());
  };
  if (workspace_.isEmpty()) save(QStringLiteral("start"));
  for (std::size_t i = 0; !workspace_.isEmpty() && i < views_.size(); ++i) {
    showIndex(static_cast<int>(i));
    finishJobs();
    save(allViews()[i].id);
  }
}

}  // namespace lime::explorer
