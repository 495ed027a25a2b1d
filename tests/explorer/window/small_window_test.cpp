// SPDX-License-Identifier: Apache-2.0
#include <QCoreApplication>
#include <QDropEvent>
#include <QImage>
#include <QLabel>
#include <QMimeData>
#include <QScrollArea>
#include <QScrollBar>
#include <QSettings>
#include <QTreeView>
#include <QUrl>

#include "explorer/explorer_fixture.h"
#include "explorer/models/text.h"
#include "explorer/window/main_window.h"
#include "explorer/window/side_bar.h"
#include "explorer/window/view_kinds.h"
#include "support/tiny_checkpoint.h"

namespace lime::explorer::testing {
namespace {

class SmallWindowTest : public WorkspaceTest {
 protected:
  SmallWindowTest() { QSettings().clear(); }
  void open(MainWindow& window, const QStringList& paths) {
    window.workspace().open(paths);
    ASSERT_TRUE(waitUntil([&] { return window.jobs().isIdle(); }));
  }
};

TEST_F(SmallWindowTest, EveryViewFitsHalfAScreen) {
  MainWindow window;
  window.show();
  const auto expectSmall = [&](const std::string& page) {
    window.resize(800, 500);
    QCoreApplication::processEvents();
    EXPECT_EQ(window.width(), 800) << page;
    EXPECT_EQ(window.height(), 500) << page;
  };
  expectSmall("start");
  open(window, {checkpointFolder(), captureFile(), resultsFile()});
  const int width = window.findChild<SideBar*>()->width();
  for (std::size_t i = 0; i < window.views().size(); ++i) {
    window.showView(allViews()[i].id);
    ASSERT_TRUE(waitUntil([&] { return window.jobs().isIdle(); }));
    expectSmall(allViews()[i].id.toStdString());
  }
  window.resize(1600, 1000);
  QCoreApplication::processEvents();
  EXPECT_EQ(window.findChild<SideBar*>()->width(), width) << "the side bar has one width";
}

/// Returns what scrolls a view.
const QScrollArea* frameOf(const QWidget& view) {
  const QWidget* frame = &view;
  while (frame != nullptr && qobject_cast<const QScrollArea*>(frame) == nullptr) {
    frame = frame->parentWidget();
  }
  return qobject_cast<const QScrollArea*>(frame);
}

/// Returns the widest controls of a view, which keep it from being narrower.
std::string widest(const View& view) {
  std::string list;
  for (const QWidget* const child : view.findChildren<QWidget*>()) {
    const int width = std::max(child->minimumWidth(), child->minimumSizeHint().width());
    if (!child->isVisible() || width < 150) continue;
    list += "\n  " + std::to_string(width) + ' ' + child->metaObject()->className() + ' ' +
            child->accessibleName().toStdString();
  }
  return list;
}

TEST_F(SmallWindowTest, NoViewScrollsSideways) {
  MainWindow window;
  window.show();
  open(window, {checkpointFolder("aet-llama-with-a-long-name"), checkpointFolder("aet-lime"),
                captureFile(), captureFile("second-run.h5"), resultsFile()});
  for (const QSize& size : {QSize(1024, 700), QSize(800, 500)}) {
    window.resize(size);
    for (std::size_t i = 0; i < window.views().size(); ++i) {
      window.showView(allViews()[i].id);
      ASSERT_TRUE(waitUntil([&] { return window.jobs().isIdle(); }));
      QCoreApplication::processEvents();
      const View& view = *window.views()[i];
      EXPECT_EQ(frameOf(view)->horizontalScrollBar()->maximum(), 0)
          << allViews()[i].id.toStdString() << " needs " << view.minimumSizeHint().width()
          << " pixels at " << size.width() << widest(view);
    }
  }
}

TEST_F(SmallWindowTest, ALineThatWrapsMakesNoViewScroll) {
  MainWindow window;
  window.resize(1024, 700);
  window.show();
  open(window, {captureFile()});
  window.showView(u"text"_s);
  ASSERT_TRUE(waitUntil([&] { return window.jobs().isIdle(); }));
  ASSERT_TRUE(childCalled<QLabel>(*window.currentView(), "measurement problems").isVisible());
  EXPECT_EQ(frameOf(*window.currentView())->verticalScrollBar()->maximum(), 0);
}

TEST_F(SmallWindowTest, AFileThatIsDroppedIntoAViewThatCannotShowItChangesTheView) {
  MainWindow window;
  window.show();
  open(window, {resultsFile()});
  const auto isShown = [&](const QString& view) {
    return window.currentView() == window.views()[static_cast<std::size_t>(indexOfView(view))];
  };
  ASSERT_TRUE(isShown(u"results"_s));
  QMimeData data;
  const QString folder = checkpointFolder();
  data.setUrls({QUrl::fromLocalFile(folder)});
  QDragEnterEvent enter(QPoint(400, 300), Qt::CopyAction, &data, Qt::LeftButton, {});
  QCoreApplication::sendEvent(&window, &enter);
  QDropEvent drop(QPointF(400, 300), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QCoreApplication::sendEvent(&window, &drop);
  ASSERT_TRUE(waitUntil([&] { return window.jobs().isIdle(); }));
  EXPECT_TRUE(isShown(u"router"_s));
}

TEST_F(SmallWindowTest, AnUntickedBoxIsVisibleInTheDark) {
  MainWindow window;
  window.setTheme(ThemeChoice::kDark);
  window.show();
  open(window, {captureFile()});
  const int id = window.workspace().documents().front().id;
  window.workspace().setShown(id, false);
  window.workspace().setCurrent(0);
  auto& tree = childCalled<QTreeView>(window, "open checkpoints, captures and results");
  tree.setCurrentIndex({});
  QCoreApplication::processEvents();
  const QRect line = tree.visualRect(tree.model()->index(0, 0, tree.model()->index(1, 0)));
  const QImage image = tree.viewport()->grab(line).toImage();
  const int ground = qGray(image.pixel(image.width() - 2, image.height() / 2));
  int num_light = 0;  // pixels of the box, which is left of the dot
  for (int x = 0; x < 16; ++x) {
    if (qGray(image.pixel(x, image.height() / 2)) - ground > 15) ++num_light;
  }
  EXPECT_GE(num_light, 8) << "the inside of the box differs from the list";
}

}  // namespace
}  // namespace lime::explorer::testing
