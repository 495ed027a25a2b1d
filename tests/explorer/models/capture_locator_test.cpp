// SPDX-License-Identifier: Apache-2.0
#include "explorer/models/capture_locator.h"

#include <gtest/gtest.h>

#include <QAction>
#include <QMenu>
#include <QMenuBar>
#include <QPushButton>
#include <QSettings>
#include <filesystem>

#include "analysis/write_capture.h"
#include "core/errors.h"
#include "explorer/explorer_fixture.h"
#include "explorer/models/text.h"
#include "explorer/widgets/notice_bar.h"
#include "explorer/window/main_window.h"
#include "store/results_file.h"

namespace lime::explorer::testing {
namespace {

namespace fs = std::filesystem;

/// Results in results/, of captures that were moved from old/ to new/.
class CaptureLocatorTest : public WorkspaceTest {
 protected:
  CaptureLocatorTest() {
    QSettings().clear();
    for (const char* const name : {"old", "new", "results"}) fs::create_directory(folder_ / name);
  }
  fs::path capture(const fs::path& path, const std::string& text) const {
    lime::testing::SmallCapture small = lime::testing::example_capture();
    small.text_sha256 = text;
    lime::testing::write_capture(folder_ / path, small);
    return folder_ / path;
  }
  ResultsInput input(const std::string& name, const std::string& text = "text") const {
    return {(folder_ / "old" / name).string(), std::string(64, '0'), name, text};
  }
  /// Writes results of captures a.h5 and b.h5 in old/.
  QString results() const {
    Results results;
    results.metric = "entropy";
    results.inputs = {input("a.h5"), input("b.h5")};
    results.rows.push_back(
        {{col::kLabel, "a.h5"}, {col::kSite, "values"}, {col::kLayer, 0}, {col::kMean, 1.0}});
    write_results(folder_ / "results" / "entropy.json", results);
    return toQString(folder_ / "results" / "entropy.json");
  }
};

TEST_F(CaptureLocatorTest, FindsWhatLiesWhereItLayOrBesideTheResults) {
  const CaptureLocator locator;
  const fs::path results = folder_ / "results" / "entropy.json";
  EXPECT_FALSE(locator.find(input("a.h5"), results));
  const fs::path beside = capture("results/a.h5", "text");
  EXPECT_EQ(locator.find(input("a.h5"), results), beside);
  const fs::path old = capture("old/a.h5", "text");
  EXPECT_EQ(locator.find(input("a.h5"), results), old);
  ResultsInput relative = input("a.h5");
  relative.path = "../old/a.h5";
  EXPECT_EQ(locator.find(relative, results), old);
}

TEST_F(CaptureLocatorTest, FindsWhatWasLocatedAndOthersOfTheSameTextInThatFolder) {
  CaptureLocator locator;
  const fs::path results = folder_ / "results" / "entropy.json";
  const fs::path renamed = capture("new/renamed.h5", "text");
  const fs::path b = capture("new/b.h5", "text");
  capture("new/c.h5", "another text");
  EXPECT_FALSE(locator.find(input("b.h5"), results));
  locator.add(input("a.h5"), results, renamed);
  EXPECT_EQ(locator.find(input("a.h5"), results), renamed);
  EXPECT_EQ(locator.find(input("b.h5"), results), b);
  EXPECT_FALSE(locator.find(input("c.h5"), results)) << "it is of another text";
}

TEST_F(CaptureLocatorTest, RefusesACaptureOfAnotherText) {
  try {
    checkIsCaptureOf(input("a.h5"), capture("new/a.h5", "another"));
    FAIL() << "it was taken";
  } catch (const FormatError& error) {
    EXPECT_TRUE(std::string(error.what()).find("must be a capture of the same text as") !=
                std::string::npos)
        << error.what();
  }
}

TEST_F(CaptureLocatorTest, ResultsMissTheirCapturesUntilOneIsLocated) {
  open({results()});
  ASSERT_EQ(workspace_.documents().size(), 1U);
  const int id = workspace_.documents().front().id;
  EXPECT_EQ(workspace_.find(id)->missing_captures, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(workspace_.find(id)->outline.back().name, "missing");
  workspace_.locateCapture(id, toQString(capture("new/x.h5", "another")));
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  ASSERT_EQ(refused_.size(), 1);
  EXPECT_TRUE(refused_.front().contains("must be a capture of the same text"))
      << refused_.front().toStdString();
  capture("new/b.h5", "text");
  workspace_.locateCapture(id, toQString(capture("new/a.h5", "text")));
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  EXPECT_TRUE(workspace_.find(id)->missing_captures.empty());
  EXPECT_EQ(workspace_.find(id)->outline.back().name, "of");
}

TEST_F(CaptureLocatorTest, TheWindowOffersToLocateAndRemembers) {
  const QString file = results();
  capture("new/b.h5", "text");
  const QString moved = toQString(capture("new/a.h5", "text"));
  const auto locate = [](MainWindow& window) {
    for (QAction* const menu : window.menuBar()->actions()) {
      for (QAction* const action : menu->menu()->actions()) {
        if (action->text() == "&Locate capture...") return action;
      }
    }
    return static_cast<QAction*>(nullptr);
  };
  {
    MainWindow window;
    window.show();
    EXPECT_FALSE(locate(window)->isEnabled());
    window.workspace().open({file});
    ASSERT_TRUE(waitUntil([&] { return window.jobs().isIdle(); }));
    const auto* const notice = window.findChild<NoticeBar*>();
    ASSERT_TRUE(notice->isVisible());
    EXPECT_TRUE(notice->text().contains("no longer exists")) << notice->text().toStdString();
    EXPECT_EQ(notice->findChild<QPushButton*>()->text(), "&Locate...");
    EXPECT_TRUE(locate(window)->isEnabled());
    window.workspace().locateCapture(window.workspace().documents().front().id, moved);
    ASSERT_TRUE(waitUntil([&] { return window.jobs().isIdle(); }));
    EXPECT_FALSE(locate(window)->isEnabled());
    window.close();
  }
  MainWindow window;
  window.show();
  window.workspace().open({file});
  ASSERT_TRUE(waitUntil([&] { return window.jobs().isIdle(); }));
  EXPECT_TRUE(window.workspace().documents().front().missing_captures.empty());
  EXPECT_FALSE(window.findChild<NoticeBar*>()->isVisible());
}

}  // namespace
}  // namespace lime::explorer::testing
