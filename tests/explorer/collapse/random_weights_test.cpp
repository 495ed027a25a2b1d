// SPDX-License-Identifier: Apache-2.0
// The real lime-capture writes the capture with random weights.
#include <QCheckBox>
#include <QPlainTextEdit>
#include <QProcess>
#include <QUndoStack>

#include "checkpoint/model_config.h"
#include "explorer/collapse/collapse_view.h"
#include "explorer/explorer_fixture.h"
#include "explorer/models/text.h"
#include "support/tiny_checkpoint.h"

namespace lime::explorer::testing {
namespace {

class RandomWeightsTest : public WorkspaceTest {};

TEST_F(RandomWeightsTest, ABoxComparesWithRandomWeightsOfTheCheckpointOfTheCapture) {
  lime::testing::write_tiny_checkpoint(folder_ / "plain", lime::testing::tiny_config("llama"));
  std::string lines;
  for (int i = 0; i < 12; ++i) lines += i % 2 == 0 ? "the cat is here\n" : "the dogs are there\n";
  lime::testing::write_text(folder_ / "text.txt", lines);
  const std::string path = (folder_ / "run.h5").string();
  QProcess capture;
  capture.start(QStringLiteral(LIME_PROGRAMS "/lime-capture"),
                {u"--checkpoint"_s, toQString(folder_ / "plain"), u"--lines"_s,
                 toQString(folder_ / "text.txt"), u"-o"_s, toQString(path), u"--quiet"_s});
  ASSERT_TRUE(capture.waitForFinished());
  ASSERT_EQ(capture.exitCode(), 0) << capture.readAllStandardError().toStdString();
  Preferences preferences;
  QUndoStack undo;
  CollapseView view{ViewContext{workspace_, jobs_, undo, preferences}};
  view.resize(1000, 700);
  view.show();
  open({toQString(folder_ / "plain"), toQString(path)});
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  auto& text = childCalled<QPlainTextEdit>(view, "evidence of the selected verdict");
  EXPECT_TRUE(text.toPlainText().contains("architecture or training"));
  for (QCheckBox* const box : view.findChildren<QCheckBox*>()) {
    if (box->text().remove('&') == "Compare with random weights") box->click();
  }
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "run.random-0.h5"));
  EXPECT_FALSE(text.toPlainText().contains("architecture or training"))
      << text.toPlainText().toStdString();
  EXPECT_TRUE(view.commandLines().front().contains("--against-random"));
}

}  // namespace
}  // namespace lime::explorer::testing
