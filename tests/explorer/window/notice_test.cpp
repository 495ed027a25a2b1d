// SPDX-License-Identifier: Apache-2.0
#include <QAbstractButton>
#include <QSettings>

#include "explorer/explorer_fixture.h"
#include "explorer/widgets/notice_bar.h"
#include "explorer/window/main_window.h"

namespace lime::explorer::testing {
namespace {

class NoticeTest : public WorkspaceTest {
 protected:
  NoticeTest() { QSettings().clear(); }
};

TEST_F(NoticeTest, ALongPathLeavesTheButtonsOfANoticeInTheWindow) {
  MainWindow window;
  window.resize(800, 500);
  window.show();
  auto& notice = *window.findChild<NoticeBar*>();
  const QString path = u"/a-folder-of-a-user"_s.repeated(12);
  notice.showText(path, u"&Locate..."_s);
  QCoreApplication::processEvents();
  EXPECT_EQ(notice.text(), path);
  for (const QAbstractButton* const button : notice.findChildren<QAbstractButton*>()) {
    EXPECT_LE(button->mapTo(&window, button->rect().bottomRight()).x(), window.width());
  }
}

TEST_F(NoticeTest, ANoticeEndsWithTheLastDocument) {
  MainWindow window;
  window.show();
  window.workspace().open({resultsFile(), toQString(folder_ / "absent.h5")});
  ASSERT_TRUE(waitUntil([&] { return window.jobs().isIdle(); }));
  auto& notice = *window.findChild<NoticeBar*>();
  ASSERT_TRUE(notice.isVisible());
  window.workspace().closeAll();
  EXPECT_FALSE(notice.isVisible());
}

}  // namespace
}  // namespace lime::explorer::testing
