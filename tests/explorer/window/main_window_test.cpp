// SPDX-License-Identifier: Apache-2.0
#include "explorer/window/main_window.h"

#include <signal.h>
#include <sys/resource.h>

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QMimeData>
#include <QSettings>
#include <QSlider>
#include <QStatusBar>
#include <QTest>
#include <QTextBrowser>
#include <QTreeView>
#include <chrono>
#include <filesystem>

#include "explorer/embeddings/layer_slider.h"
#include "explorer/explorer_fixture.h"
#include "explorer/models/document.h"
#include "explorer/models/text.h"
#include "explorer/widgets/figure_view.h"
#include "explorer/widgets/notice_bar.h"
#include "explorer/window/explain_button.h"
#include "explorer/window/export_dialog.h"
#include "explorer/window/file_menu.h"
#include "explorer/window/manual_page.h"
#include "explorer/window/screenshots.h"
#include "explorer/window/side_bar.h"
#include "explorer/window/view_kinds.h"
#include "support/refusal.h"

namespace lime::explorer::testing {
namespace {

class MainWindowTest : public WorkspaceTest {
 protected:
  MainWindowTest() { QSettings().clear(); }

  static void openIn(MainWindow& window, const QStringList& paths) {
    window.workspace().open(paths);
    ASSERT_TRUE(waitUntil([&] { return window.jobs().isIdle(); }));
  }
  static QAction* actionOf(MainWindow& window, const QString& text) {
    for (QAction* const menu : window.menuBar()->actions()) {
      for (QAction* const action : menu->menu()->actions()) {
        if (action->text().remove('&').startsWith(text)) return action;
      }
    }
    return nullptr;
  }
};

TEST_F(MainWindowTest, StartsWithAPageThatSaysWhatToDo) {
  MainWindow window;
  window.show();
  EXPECT_TRUE(window.showsStartPage());
  ASSERT_NE(window.findChild<StartPage*>(), nullptr);
  EXPECT_FALSE(actionOf(window, "Export figure")->isEnabled());
}

TEST_F(MainWindowTest, OpensWhatIsDroppedAndShowsTheViewForIt) {
  MainWindow window;
  window.show();
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile(resultsFile())});
  QDragEnterEvent enter(QPoint(100, 100), Qt::CopyAction, &data, Qt::LeftButton, {});
  QCoreApplication::sendEvent(&window, &enter);
  EXPECT_TRUE(enter.isAccepted());
  QDropEvent drop(QPointF(100, 100), Qt::CopyAction, &data, Qt::LeftButton, {});
  QCoreApplication::sendEvent(&window, &drop);
  ASSERT_TRUE(waitUntil([&] { return window.jobs().isIdle(); }));
  EXPECT_FALSE(window.showsStartPage());
  ASSERT_NE(window.currentView(), nullptr);
  EXPECT_EQ(window.currentView()->title(), "Results");
  EXPECT_TRUE(window.currentView()->figure());
}

TEST_F(MainWindowTest, SaysInOneLineWhyAFileIsNotOpened) {
  MainWindow window;
  window.show();
  openIn(window, {"/absent.h5"});
  const auto* const notice = window.findChild<NoticeBar*>();
  EXPECT_TRUE(notice->isVisible());
  EXPECT_TRUE(notice->text().contains("/absent.h5")) << notice->text().toStdString();
  EXPECT_TRUE(window.showsStartPage());
}

TEST_F(MainWindowTest, TheNoticeOfAMissingFileGoesWhenTheFileReturns) {
  MainWindow window;
  window.show();
  const QString capture = captureFile();
  openIn(window, {capture});
  const auto* const notice = window.findChild<NoticeBar*>();
  std::filesystem::rename(toPath(capture), folder_ / "elsewhere.h5");
  ASSERT_TRUE(waitUntil([&] { return notice->isVisible(); }));
  EXPECT_TRUE(notice->text().contains("was deleted or moved")) << notice->text().toStdString();
  std::filesystem::rename(folder_ / "elsewhere.h5", toPath(capture));
  EXPECT_TRUE(waitUntil([&] { return !notice->isVisible(); }));
}

TEST_F(MainWindowTest, SettingsWithoutALayerKeepTheSelectedOne) {
  MainWindow window;
  openIn(window, {checkpointFolder()});
  window.setStates({{"selection", {{"layer", 1}}}});
  window.setStates({{"router", {{"sorted", true}}}});
  EXPECT_EQ(window.workspace().selection().layer, 1);
}

TEST_F(MainWindowTest, ConfirmationsAreSeenInTheStatusBar) {
  MainWindow window;
  window.show();
  openIn(window, {resultsFile()});
  actionOf(window, "Copy image")->trigger();
  EXPECT_EQ(window.statusBar()->currentMessage(), "Copied the image");
  for (const QLabel* const label : window.statusBar()->findChildren<QLabel*>()) {
    EXPECT_FALSE(label->isVisible()) << "covers the message";
  }
  Q_EMIT window.currentView()->status("under the pointer");
  EXPECT_TRUE(window.statusBar()->currentMessage().isEmpty());
}

TEST_F(MainWindowTest, TheMenuSaysWhetherTheCopiedCommandsDrawTheFigure) {
  MainWindow window;
  window.show();
  openIn(window, {checkpointFolder()});
  window.showView("router");
  QAction* const copy = actionOf(window, "Copy as command line");
  auto* const menu = qobject_cast<QMenu*>(copy->associatedObjects().front());
  Q_EMIT menu->aboutToShow();
  EXPECT_EQ(copy->text(), "Copy as command &line");
  window.setStates({{"router", {{"sorted", true}}}});
  Q_EMIT menu->aboutToShow();
  EXPECT_TRUE(copy->text().contains("no recipe of lime-figure")) << copy->text().toStdString();
}

TEST_F(MainWindowTest, EveryViewFitsIntoASmallWindow) {
  MainWindow window;
  window.show();
  openIn(window, {checkpointFolder(), captureFile(), resultsFile()});
  for (const ViewKind& kind : allViews()) {
    window.showView(kind.id);
    ASSERT_TRUE(waitUntil([&] { return window.jobs().isIdle(); }));
    window.resize(1024, 700);
    QApplication::processEvents();
    EXPECT_LE(window.minimumSizeHint().width(), 1024) << kind.id.toStdString();
    EXPECT_GE(window.findChild<SideBar*>()->width(), 160) << kind.id.toStdString();
    EXPECT_LE(window.minimumSizeHint().height(), 700) << kind.id.toStdString();
    for (const QSlider* const slider : window.currentView()->findChildren<QSlider*>()) {
      EXPECT_TRUE(!slider->isVisible() || slider->width() >= 60) << kind.id.toStdString();
    }
  }
}

TEST_F(MainWindowTest, FiguresFollowTheThemeAlsoInHiddenViews) {
  MainWindow window;
  window.show();
  window.setTheme(ThemeChoice::kLight);
  openIn(window, {captureFile(), resultsFile()});
  const auto lightness = [&](const QString& view) {
    window.showView(view);
    QCoreApplication::processEvents();  // the palette reaches the widgets in the event loop
    EXPECT_TRUE(waitUntil([&] { return window.jobs().isIdle(); }));
    for (FigureView* const plot : window.currentView()->findChildren<FigureView*>()) {
      if (plot->figure() != nullptr) return plot->grab().toImage().pixelColor(2, 2).lightness();
    }
    return -1;
  };
  EXPECT_GT(lightness("collapse"), 200);
  EXPECT_GT(lightness("results"), 200);
  window.setTheme(ThemeChoice::kDark);
  EXPECT_LT(lightness("results"), 60);
  EXPECT_LT(lightness("collapse"), 60) << "it was hidden";
  window.setTheme(ThemeChoice::kLight);
}

TEST_F(MainWindowTest, ASessionReturnsToItsView) {
  const QString checkpoint = checkpointFolder();
  const QString capture = captureFile();
  {
    MainWindow window;
    window.show();
    openIn(window, {checkpoint, capture});
    window.showView("text");
    window.close();
  }
  MainWindow window;
  window.show();
  window.restoreSession();
  ASSERT_TRUE(waitUntil([&] { return window.jobs().isIdle(); }));
  EXPECT_EQ(window.workspace().documents().size(), 2U);
  EXPECT_EQ(window.currentView()->title(), "Text");
}

TEST_F(MainWindowTest, EveryActionHasItsOwnShortcutAndViewsStateTheirQuestion) {
  MainWindow window;
  QStringList seen;
  QList<QAction*> actions;
  for (QAction* const menu : window.menuBar()->actions()) actions << menu->menu()->actions();
  for (const View* const view : window.views()) {
    EXPECT_FALSE(view->accessibleName().isEmpty());
  }
  for (const QAction* const action : actions) {
    for (const QKeySequence& key : action->shortcuts()) {
      if (key.isEmpty()) continue;
      EXPECT_FALSE(seen.contains(key.toString())) << key.toString().toStdString();
      seen << key.toString();
    }
  }
  for (const ViewKind& kind : allViews()) EXPECT_FALSE(kind.question.isEmpty());
  for (const View* const view : window.views()) {
    QStringList own = seen;
    for (const QAction* const action : view->actions()) {
      for (const QKeySequence& key : action->shortcuts()) {
        if (key.isEmpty()) continue;
        EXPECT_FALSE(own.contains(key.toString()))
            << view->title().toStdString() << ": " << key.toString().toStdString();
        own << key.toString();
      }
    }
  }
}

TEST_F(MainWindowTest, RenamingADocumentIsAStepOfUndo) {
  MainWindow window;
  window.show();
  openIn(window, {resultsFile()});
  auto* const tree = window.findChild<QTreeView*>();
  const auto label = [&] { return window.workspace().documents().front().label; };
  const QString before = label();
  tree->model()->setData(tree->currentIndex(), "mine", Qt::EditRole);
  EXPECT_EQ(label(), "mine");
  ASSERT_EQ(window.undoStack().count(), 1);
  window.undoStack().undo();
  EXPECT_EQ(label(), before);
  window.undoStack().redo();
  EXPECT_EQ(label(), "mine");
}

TEST_F(MainWindowTest, CopiesTheCommandLine) {
  MainWindow window;
  window.show();
  const QString path = resultsFile();
  openIn(window, {path});
  actionOf(window, "Copy as command line")->trigger();
  EXPECT_EQ(QApplication::clipboard()->text(),
            QStringLiteral("lime-figure %1 --kind entropy -o entropy.pdf").arg(path));
}

TEST_F(MainWindowTest, ExportsWhatIsShown) {
  MainWindow window;
  openIn(window, {resultsFile()});
  const View& view = *window.currentView();
  for (const std::string name : {"a.pdf", "a.svg", "a.png", "a.csv"}) {
    ExportDialog dialog(*view.figure(), view.provenance());
    dialog.setPath(toQString(folder_ / name));
    dialog.accept();
    EXPECT_EQ(dialog.result(), QDialog::Accepted) << dialog.problem().toStdString();
    EXPECT_TRUE(std::filesystem::exists(folder_ / name)) << name;
  }
}

TEST_F(MainWindowTest, ExportShowsAPreviewOfTheStyle) {
  MainWindow window;
  openIn(window, {resultsFile()});
  ExportDialog dialog(*window.currentView()->figure(), Json::object());
  dialog.show();
  auto& preview = childCalled<QLabel>(dialog, "preview");
  ASSERT_TRUE(waitUntil([&] { return !preview.pixmap().isNull(); }));
  const QImage wide = preview.pixmap().toImage();
  auto& venue = childCalled<QComboBox>(dialog, "venue");
  venue.setCurrentText("slides");
  Q_EMIT venue.textActivated("slides");
  ASSERT_TRUE(waitUntil([&] { return preview.pixmap().toImage().size() != wide.size(); }));
  const QSizeF slide = preview.pixmap().size();
  EXPECT_NEAR(slide.width() / slide.height(), 254.0 / 142.9, 0.02);
  venue.setCurrentText("automatic");
  Q_EMIT venue.textActivated("automatic");
  ASSERT_TRUE(waitUntil([&] { return preview.pixmap().toImage().size() == wide.size(); }))
      << "a venue can be removed again";
  childCalled<QLineEdit>(dialog, "panel").setText("9");
  ASSERT_TRUE(waitUntil([&] { return preview.text().startsWith("panel: the figure has panels"); }));
}

TEST_F(MainWindowTest, WritesAReportOfTheOpenResults) {
  MainWindow window;
  openIn(window, {resultsFile()});
  const std::filesystem::path path = folder_ / "report.html";
  window.findChild<FileMenu*>()->writeReport(toQString(path));
  auto& notice = *window.findChild<NoticeBar*>();
  ASSERT_TRUE(waitUntil([&] { return notice.text() == u"Wrote "_s + toQString(path); }, 20.0))
      << notice.text().toStdString();
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(MainWindowTest, EveryViewIsExplainedWithItsFormulaCaveatAndPage) {
  for (const ViewKind& kind : allViews()) {
    const Explanation& one = kind.explanation;
    EXPECT_EQ(one.text.count(u". "_s) + 1, 2) << kind.id.toStdString() << ": two sentences";
    EXPECT_FALSE(one.formula.isEmpty() || one.caveat.isEmpty()) << kind.id.toStdString();
    const QString page = manualPage(one.page);
    ASSERT_FALSE(page.isEmpty()) << one.page.toStdString();
    EXPECT_NE(lime::testing::read_text(page.toStdString()).find(one.heading.toStdString()),
              std::string::npos);
  }
  MainWindow window;
  window.resize(1024, 700);
  window.show();
  auto& button = childCalled<ExplainButton>(window, "explain this view");
  EXPECT_FALSE(button.isVisible()) << "on the start page";
  openIn(window, {checkpointFolder()});
  ASSERT_TRUE(button.isVisible());
  button.click();
  const QString text = childCalled<QLabel>(button, "explanation").text();
  EXPECT_TRUE(text.contains(allViews().front().explanation.caveat));
  EXPECT_TRUE(text.contains("docs/router.md"));
}

TEST_F(MainWindowTest, ExportSaysWhatIsWrongAndStays) {
  MainWindow window;
  openIn(window, {resultsFile()});
  ExportDialog dialog(*window.currentView()->figure(), Json::object());
  dialog.setPath(toQString(folder_ / "missing" / "a.pdf"));
  dialog.accept();
  EXPECT_NE(dialog.result(), QDialog::Accepted);
  EXPECT_TRUE(dialog.problem().contains("missing")) << dialog.problem().toStdString();
  dialog.setPath(toQString(folder_ / "a.bmp"));
  dialog.accept();
  EXPECT_TRUE(dialog.problem().contains(".bmp")) << dialog.problem().toStdString();
}

/// Limits the file size during its lifetime, like a full disk.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_ = {};
};

TEST_F(MainWindowTest, ExportOnAFullDiskSaysSoAndLeavesNothing) {
  MainWindow window;
  openIn(window, {resultsFile()});
  for (const std::string name : {"a.pdf", "a.svg", "a.png", "a.csv"}) {
    ExportDialog dialog(*window.currentView()->figure(), Json::object());
    dialog.setPath(toQString(folder_ / name));
    {
      const FullDisk full(10);
      dialog.accept();
    }
    EXPECT_NE(dialog.result(), QDialog::Accepted) << name;
    EXPECT_TRUE(dialog.problem().contains(toQString(name))) << dialog.problem().toStdString();
    EXPECT_FALSE(std::filesystem::exists(folder_ / name));
    dialog.accept();
    EXPECT_EQ(dialog.result(), QDialog::Accepted) << "when there is room again";
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / ".")) {
    EXPECT_EQ(entry.path().string().find(".part"), std::string::npos) << entry.path();
  }
}

TEST_F(MainWindowTest, UndoShowsTheViewThatItChanges) {
  MainWindow window;
  window.show();
  openIn(window, {resultsFile(), checkpointFolder()});
  window.showView("router");
  window.currentView()->findChild<QSlider*>()->setValue(30);
  window.showView("results");
  window.undoStack().undo();
  EXPECT_EQ(window.currentView()->title(), "Router");
}

TEST_F(MainWindowTest, StatesMustBeNamesThatViewsHave) {
  MainWindow window;
  const auto refusal = [&](const Json& states) {
    return lime::testing::refusal_of<InvalidArgument>([&] { window.setStates(states); });
  };
  const std::string no_name = refusal({{"router", {{"bogus", 1}}}});
  EXPECT_TRUE(
      no_name.starts_with("state: router: unknown setting 'bogus' (available: checkpoint, "))
      << no_name;
  const std::string no_view = refusal({{"routr", Json::object()}});
  EXPECT_TRUE(no_view.starts_with("state: unknown setting 'routr' (available: selection, "))
      << no_view;
  EXPECT_EQ(refusal({{"selection", {{"layers", 1}}}}),
            "state: selection: unknown setting 'layers' (available: layer, rows)");
  EXPECT_EQ(refusal({{"router", 1}}),
            "state: router: must be an object of names and values, got 1");
  EXPECT_NO_THROW(window.setStates({{"router", {{"detail", 1}, {"layer", 0}}}}));
}

TEST_F(MainWindowTest, PicturesWaitForWhatViewsCompute) {
  MainWindow window;
  window.show();
  openIn(window, {captureFile()});
  window.showView("router");
  saveScreenshots(window, toQString(folder_ / "shots"));
  EXPECT_TRUE(window.jobs().isIdle());
  for (const View* const view : window.views()) {
    if (view->title() != "Collapse") continue;
    EXPECT_TRUE(view->figure()) << "it was measured";
  }
}

TEST_F(MainWindowTest, PicturesWaitForAnimations) {
  MainWindow window;
  window.show();
  openIn(window, {captureFile()});
  auto* const slider = window.findChild<LayerSlider*>();
  slider->setLayers({0, 1, 2}, 0);
  slider->moveTo(2);
  saveScreenshots(window, toQString(folder_ / "shots"));
  EXPECT_EQ(slider->current(), 2);
}

TEST_F(MainWindowTest, ReloadReadsAllThatWereRewritten) {
  MainWindow window;
  window.show();
  const QString first = resultsFile("a.json");
  openIn(window, {first, resultsFile("b.json")});
  std::filesystem::last_write_time(
      toPath(first), std::filesystem::file_time_type::clock::now() + std::chrono::seconds(5));
  ASSERT_TRUE(waitUntil(
      [&] { return window.workspace().documents().front().state == DocumentState::kRewritten; }));
  actionOf(window, "Reload")->trigger();
  ASSERT_TRUE(waitUntil([&] { return window.jobs().isIdle(); }));
  EXPECT_EQ(window.workspace().documents().front().state, DocumentState::kPresent);
}

TEST_F(MainWindowTest, RestoresTheLastSession) {
  const QString results = resultsFile();
  {
    MainWindow window;
    window.show();
    openIn(window, {results, captureFile()});
    window.workspace().setSelection({.tokens = {.text = "text", .places = {{1, 2}}}});
    window.close();
  }
  MainWindow window;
  window.restoreLayout();
  window.restoreSession();
  ASSERT_TRUE(waitUntil([&] { return window.jobs().isIdle(); }));
  ASSERT_EQ(window.workspace().documents().size(), 2U);
  EXPECT_EQ(window.workspace().documents()[0].path, toPath(results));
  EXPECT_TRUE(window.workspace().recent().contains(results));
  EXPECT_EQ(window.workspace().selection().tokens.text, "text");
  EXPECT_EQ(window.workspace().selection().tokens.places, (std::vector<TokenPlace>{{1, 2}}));
}

TEST_F(MainWindowTest, HasAnIconAndOpensItsManual) {
  MainWindow window;
  EXPECT_FALSE(window.windowIcon().pixmap(64).isNull());
  actionOf(window, "Manual")->trigger();
  auto& opened = childCalled<QTextBrowser>(window, "manual");
  EXPECT_TRUE(opened.source().toLocalFile().endsWith("docs/explorer.md"));
  EXPECT_TRUE(opened.toPlainText().startsWith("LIMe Explorer"));
  opened.resize(500, 400);
  const QUrl url = QUrl::fromLocalFile(
      QFileInfo(opened.source().toLocalFile()).dir().filePath("images/explorer-router.png"));
  const auto image = opened.loadResource(QTextDocument::ImageResource, url).value<QImage>();
  ASSERT_FALSE(image.isNull());
  EXPECT_LE(image.width(), opened.viewport()->width()) << "no wider than its window";
}

TEST_F(MainWindowTest, SavesPicturesOfItsViews) {
  MainWindow window;
  window.show();
  openIn(window, {resultsFile()});
  saveScreenshots(window, toQString(folder_ / "shots"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "shots" / "results.png"));
}

}  // namespace
}  // namespace lime::explorer::testing
