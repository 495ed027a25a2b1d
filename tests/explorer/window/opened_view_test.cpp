// SPDX-License-Identifier: Apache-2.0
// Which view the first files open in.
#include <QSettings>

#include "explorer/explorer_fixture.h"
#include "explorer/models/text.h"
#include "explorer/window/main_window.h"
#include "support/tiny_checkpoint.h"

namespace lime::explorer::testing {
namespace {

class OpenedViewTest : public WorkspaceTest {
 protected:
  OpenedViewTest() { QSettings().clear(); }

  static void openIn(MainWindow& window, const QStringList& paths) {
    window.workspace().open(paths);
    ASSERT_TRUE(waitUntil([&] { return window.jobs().isIdle(); }));
  }
};

TEST_F(OpenedViewTest, SaysSomethingOfTheFiles) {
  lime::testing::write_tiny_checkpoint(folder_ / "llama", lime::testing::tiny_config("llama"));
  const QString llama = toQString(folder_ / "llama");
  const QString lime = checkpointFolder();
  const QString capture = captureFile();
  const auto shown = [](const QStringList& paths) {
    MainWindow window;
    window.show();
    openIn(window, paths);
    return window.currentView()->title();
  };
  EXPECT_EQ(shown({llama}), "Interventions") << "it has no router";
  EXPECT_EQ(shown({llama, capture}), "Collapse");
  EXPECT_EQ(shown({capture, llama}), "Collapse");
  EXPECT_EQ(shown({llama, lime, capture}), "Router");
  EXPECT_EQ(shown({resultsFile(), llama}), "Results");
  MainWindow window;
  window.show();
  openIn(window, {llama});
  openIn(window, {capture});
  EXPECT_EQ(window.currentView()->title(), "Interventions") << "the user may be at work there";
  MainWindow with_view;
  with_view.show();
  with_view.showView("text");
  openIn(with_view, {llama, capture});
  EXPECT_EQ(with_view.currentView()->title(), "Text") << "the user has selected it";
}

}  // namespace
}  // namespace lime::explorer::testing
