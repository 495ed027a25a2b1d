// SPDX-License-Identifier: Apache-2.0
// The window without a mouse: every control has a name and is reachable by Tab.
#include <QAbstractItemView>
#include <QAccessible>
#include <QApplication>
#include <QDialog>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QMenuBar>
#include <QSet>
#include <QSettings>
#include <QTest>
#include <QTextBrowser>
#include <QTimer>
#include <functional>

#include "analysis/write_capture.h"
#include "explorer/capture/capture_dialog.h"
#include "explorer/explorer_fixture.h"
#include "explorer/models/text.h"
#include "explorer/widgets/figure_view.h"
#include "explorer/window/export_dialog.h"
#include "explorer/window/main_window.h"
#include "explorer/window/preferences_dialog.h"
#include "explorer/window/shortcut_dialog.h"
#include "explorer/window/view_kinds.h"

namespace lime::explorer::testing {
namespace {

QString describe(const QWidget& widget) {
  return QStringLiteral("%1 '%2' in %3")
      .arg(QString::fromLatin1(widget.metaObject()->className()), widget.objectName(),
           widget.parentWidget() == nullptr
               ? QStringLiteral("nothing")
               : QString::fromLatin1(widget.parentWidget()->metaObject()->className()));
}

/// Returns the controls of a window: those that accept focus and are not part of another control.
QList<QWidget*> controlsOf(QWidget& window) {
  QList<QWidget*> controls;
  for (QWidget* const widget : window.findChildren<QWidget*>()) {
    const bool takes_focus = (widget->focusPolicy() & Qt::TabFocus) != 0;
    if (!takes_focus || !widget->isVisibleTo(&window) || !widget->isEnabled()) continue;
    if (widget->focusProxy() != nullptr || widget->window() != &window) continue;
    if (widget->inherits("QScrollArea") || widget->objectName().startsWith("qt_")) continue;
    controls << widget;
  }
  return controls;
}

void expectNames(QWidget& window, const QString& where) {
  for (QWidget* const widget : controlsOf(window)) {
    QAccessibleInterface* const found = QAccessible::queryAccessibleInterface(widget);
    const QString name = found == nullptr ? QString() : found->text(QAccessible::Name);
    EXPECT_FALSE(name.trimmed().isEmpty())
        << where.toStdString() << ": " << describe(*widget).toStdString() << " has no name";
  }
}

/// Presses Tab until the focus returns, and expects it at every control.
void expectTabReachesAll(QWidget& window, const QString& where) {
  window.activateWindow();
  ASSERT_TRUE(QTest::qWaitForWindowActive(&window));
  const QList<QWidget*> controls = controlsOf(window);
  if (controls.isEmpty()) return;
  controls.front()->setFocus(Qt::TabFocusReason);
  QSet<QWidget*> reached;
  for (int presses = 0; presses < 4 * controls.size() + 20; ++presses) {
    QWidget* const focused = QApplication::focusWidget();
    ASSERT_NE(focused, nullptr) << where.toStdString() << ": the focus is lost";
    reached.insert(focused);
    QTest::keyClick(focused, Qt::Key_Tab);
  }
  for (QWidget* const control : controls) {
    EXPECT_TRUE(reached.contains(control))
        << where.toStdString() << ": Tab does not reach " << describe(*control).toStdString();
  }
}

class KeyboardTest : public WorkspaceTest {
 protected:
  KeyboardTest() { QSettings().clear(); }
  void openAll(MainWindow& window) {
    window.show();
    lime::testing::SmallCapture words = lime::testing::example_capture(3);
    words.class_names = {"one", "two"};
    for (int row = 0; row < 16; ++row) words.class_id.push_back(static_cast<std::int16_t>(row % 2));
    lime::testing::write_capture(folder_ / "words.h5", words);
    window.workspace().open({checkpointFolder("one"), checkpointFolder("two"), captureFile("a.h5"),
                             captureFile("b.h5"), toQString(folder_ / "words.h5"), resultsFile()});
    ASSERT_TRUE(waitUntil([&] { return window.jobs().isIdle(); }));
  }
  static void idle(MainWindow& window) {
    ASSERT_TRUE(waitUntil([&] { return window.jobs().isIdle(); }));
  }
};

TEST_F(KeyboardTest, EveryControlOfEveryViewHasANameAndIsReachedByTab) {
  MainWindow window;
  ASSERT_NO_FATAL_FAILURE(openAll(window));
  for (const ViewKind& kind : allViews()) {
    window.showView(kind.id);
    ASSERT_NO_FATAL_FAILURE(idle(window));
    expectNames(window, kind.title);
    ASSERT_NO_FATAL_FAILURE(expectTabReachesAll(window, kind.title));
  }
}

TEST_F(KeyboardTest, SoItIsOnTheStartPageAndInDialogs) {
  MainWindow window;
  window.show();
  window.workspace().setRecent({resultsFile()});
  expectNames(window, "start page");
  ASSERT_NO_FATAL_FAILURE(expectTabReachesAll(window, "start page"));
  ASSERT_NO_FATAL_FAILURE(openAll(window));
  window.showView("results");
  ExportDialog exporting(*window.currentView()->figure(), Json::object());
  PreferencesDialog preferences{Preferences()};
  ShortcutDialog shortcuts({}, window.currentView()->shortcuts());
  CaptureRun run(jobs_);
  CaptureDialog capturing(run, {.models = {{"one", "/one"}, {"two", "/two"}}});
  for (QDialog* const dialog :
       std::initializer_list<QDialog*>{&exporting, &preferences, &shortcuts, &capturing}) {
    dialog->show();
    expectNames(*dialog, dialog->windowTitle());
    ASSERT_NO_FATAL_FAILURE(expectTabReachesAll(*dialog, dialog->windowTitle()));
    QTest::keyClick(dialog, Qt::Key_Escape);
    EXPECT_FALSE(dialog->isVisible()) << dialog->windowTitle().toStdString();
  }
}

TEST_F(KeyboardTest, ShortcutsShowEveryViewAndGiveItTheFocus) {
  MainWindow window;
  ASSERT_NO_FATAL_FAILURE(openAll(window));
  window.activateWindow();
  ASSERT_TRUE(QTest::qWaitForWindowActive(&window));
  for (std::size_t i = 0; i < allViews().size() && i < 9; ++i) {
    QTest::keyClick(&window, static_cast<Qt::Key>(Qt::Key_1 + static_cast<int>(i)),
                    Qt::ControlModifier);
    ASSERT_NO_FATAL_FAILURE(idle(window));
    EXPECT_EQ(window.currentView()->title(), allViews()[i].title);
    ASSERT_NE(QApplication::focusWidget(), nullptr) << allViews()[i].title.toStdString();
    EXPECT_TRUE(window.currentView()->isAncestorOf(QApplication::focusWidget()) ||
                window.currentView() == QApplication::focusWidget())
        << allViews()[i].title.toStdString();
  }
}

TEST_F(KeyboardTest, KeysOfTheWindowDoWhatTheirMenuSays) {
  MainWindow window;
  ASSERT_NO_FATAL_FAILURE(openAll(window));
  window.activateWindow();
  ASSERT_TRUE(QTest::qWaitForWindowActive(&window));
  auto& views = childCalled<QListWidget>(window, "views");
  QTest::keyClick(&window, Qt::Key_B, Qt::ControlModifier);
  EXPECT_FALSE(views.isVisible());
  QTest::keyClick(&window, Qt::Key_B, Qt::ControlModifier);
  EXPECT_TRUE(views.isVisible());
  const auto hasManual = [&] { return window.findChild<QTextBrowser*>() != nullptr; };
  QTest::keyClick(&window, Qt::Key_Question);
  // A button that is pressed by its shortcut stays down for a moment.
  ASSERT_TRUE(waitUntil([] { return QApplication::activePopupWidget() != nullptr; }, 20.0))
      << "the explanation";
  EXPECT_FALSE(hasManual());
  QApplication::activePopupWidget()->close();
  QTest::keyClick(&window, Qt::Key_F1, Qt::ShiftModifier);
  EXPECT_TRUE(hasManual());
}

TEST_F(KeyboardTest, LettersInTheListOfViewsSelectNone) {
  MainWindow window;
  ASSERT_NO_FATAL_FAILURE(openAll(window));
  window.showView("embeddings");
  QTest::keyClick(&childCalled<QListWidget>(window, "views"), Qt::Key_P);
  EXPECT_EQ(window.currentView()->title(), "Embeddings");
}

TEST_F(KeyboardTest, FocusIsNotLostWhenDocumentsAreClosed) {
  MainWindow window;
  ASSERT_NO_FATAL_FAILURE(openAll(window));
  window.activateWindow();
  ASSERT_TRUE(QTest::qWaitForWindowActive(&window));
  for (const ViewKind& kind : allViews()) {
    if (window.workspace().documents().empty()) break;
    window.showView(kind.id);
    window.currentView()->takeFocus();
    ASSERT_NO_FATAL_FAILURE(idle(window));
    window.workspace().close(window.workspace().documents().back().id);
    ASSERT_NO_FATAL_FAILURE(idle(window));
    EXPECT_NE(QApplication::focusWidget(), nullptr) << kind.title.toStdString();
  }
  window.workspace().closeAll();
  EXPECT_NE(QApplication::focusWidget(), nullptr) << "start page";
}

TEST_F(KeyboardTest, FiguresMoveByKeys) {
  FigureView view;
  view.resize(400, 300);
  view.show();
  Figure figure;
  figure.name = "line";
  Curve curve;
  curve.x = {0.0, 1.0, 2.0};
  curve.y = {0.0, 1.0, 2.0};
  FigurePanel panel;
  panel.content = CurvePanel{{curve}, {}};
  figure.panels = {panel};
  view.setFigure(figure);
  view.zoom(4.0);
  const QPointF before = view.toPixel(0, {1.0, 1.0});
  QTest::keyClick(&view, Qt::Key_Right, Qt::ControlModifier);
  EXPECT_LT(view.toPixel(0, {1.0, 1.0}).x(), before.x()) << "what lies to the right comes in";
  QTest::keyClick(&view, Qt::Key_Up, Qt::ControlModifier);
  EXPECT_GT(view.toPixel(0, {1.0, 1.0}).y(), before.y());
  QTest::keyClick(&view, Qt::Key_Left, Qt::ControlModifier);
  QTest::keyClick(&view, Qt::Key_Down, Qt::ControlModifier);
  EXPECT_NEAR(view.toPixel(0, {1.0, 1.0}).x(), before.x(), 1.0);
}

}  // namespace
}  // namespace lime::explorer::testing
