// SPDX-License-Identifier: Apache-2.0
// The command line copied from the tab Attention must reproduce its figures.
#include "explorer/text/attention_commands.h"

#include <QComboBox>
#include <QLabel>
#include <QTabBar>
#include <QTest>
#include <QUndoStack>
#include <filesystem>
#include <limits>

#include "explorer/explorer_fixture.h"
#include "explorer/models/found_tokenizer.h"
#include "explorer/models/text.h"
#include "explorer/text/attention_figures.h"
#include "explorer/text/text_view.h"
#include "explorer/widgets/figure_view.h"
#include "support/test_data.h"
#include "viz/recipes/recipe.h"

namespace lime::explorer::testing {
namespace {

namespace fs = std::filesystem;

class AttentionCommandsTest : public WorkspaceTest {
 protected:
  AttentionCommandsTest() {
    view_.resize(1100, 660);
    view_.show();
  }

  void showAttentionOf(const QStringList& paths) {
    open(paths);
    ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle() && view_.figure().has_value(); }));
    view_.findChild<QTabBar*>()->setCurrentIndex(1);
    ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  }
  FigureView& pane(const QString& name) { return childCalled<FigureView>(view_, name); }

  /// Runs the lines as if pasted into a terminal.
  void runLines(const QStringList& lines) {
    for (const QString& line : lines) {
      const lime::testing::ProgramRun run = lime::testing::run_command(
          "cd '" + folder_.path().string() + "' && PATH='" LIME_PROGRAMS "':\"$PATH\" " +
          line.toStdString());
      EXPECT_EQ(run.status, 0) << line.toStdString() << "\n" << run.errors;
    }
  }

  /// Expects the same cells, labels and ticks.
  static void expectSamePanel(const Figure& shown, const Figure& made) {
    ASSERT_EQ(made.panels.size(), 1U);
    const FigurePanel& a = shown.panels.at(0);
    const FigurePanel& b = made.panels.at(0);
    EXPECT_EQ(a.x.label, b.x.label);
    EXPECT_EQ(a.y.label, b.y.label);
    ASSERT_EQ(a.y.ticks.size(), b.y.ticks.size());
    for (std::size_t i = 0; i < a.y.ticks.size(); ++i) {
      EXPECT_EQ(a.y.ticks[i].label, b.y.ticks[i].label);
    }
    const auto cellsOf = [](const FigurePanel& panel) {
      const MatrixD& values = std::get<HeatmapPanel>(panel.content).values;
      return MatrixD(values.array().isNaN().select(-1.0, values));
    };
    EXPECT_EQ(shown.colour_label, made.colour_label);
    ASSERT_EQ(cellsOf(a).cols(), cellsOf(b).cols());
    EXPECT_LT((cellsOf(a) - cellsOf(b)).cwiseAbs().maxCoeff(), 1e-12);
  }

  Preferences preferences_;
  QUndoStack undo_;
  TextView view_{ViewContext{workspace_, jobs_, undo_, preferences_}};
};

TEST_F(AttentionCommandsTest, TheCopiedLinesMakeWhatIsShown) {
  const QString capture = toQString(lime::testing::golden_file("attention/capture.h5"));
  const QString checkpoint = toQString(lime::testing::source_file("data/aet-lime"));
  ASSERT_NO_FATAL_FAILURE(showAttentionOf({capture, checkpoint}));
  Json state = view_.state();
  state["sequence"] = 1;
  state["head"] = 2;
  view_.setState(state);
  ASSERT_TRUE(waitUntil([this] {
    return jobs_.isIdle() && pane("attention pattern").figure() != nullptr &&
           pane("routed attention").figure() != nullptr;
  }));
  const QStringList lines = view_.commandLines();
  ASSERT_EQ(lines.size(), 3);
  EXPECT_TRUE(lines[0].startsWith("lime-metrics attention ")) << lines[0].toStdString();
  EXPECT_TRUE(lines[0].contains("--head 2 --sequence 1 --query ")) << lines[0].toStdString();
  ASSERT_NO_FATAL_FAILURE(runLines(lines));
  EXPECT_TRUE(fs::exists(folder_ / "attention.pdf"));
  EXPECT_TRUE(fs::exists(folder_ / "attention-routed.pdf"));
  const std::vector<FigureSource> sources = {read_figure_source(folder_ / "attention.json")};
  expectSamePanel(*pane("attention pattern").figure(), make_figure(sources, {}));
  expectSamePanel(*pane("routed attention").figure(),
                  make_figure(sources, {.kind = "attention-routed"}));
}

TEST_F(AttentionCommandsTest, FindsTheTokenizerFromAnotherFolder) {
  const fs::path golden = lime::testing::golden_file("attention/capture.h5");
  const CaptureReader original(golden);
  const std::string& command = original.info().command;
  ASSERT_NE(command.find("--checkpoint data/aet-lime"), std::string::npos) << command;
  fs::create_directories(folder_ / "out");
  fs::create_directory_symlink(lime::testing::source_file("data"), folder_ / "data");
  fs::copy_file(golden, folder_ / "out" / "capture.h5");
  const CaptureReader capture(folder_ / "out" / "capture.h5");
  // The folder is also looked for in the working directory; the root of the repository has it.
  const fs::path before = fs::current_path();
  fs::current_path(folder_ / "out");
  const fs::path found = findTokenizer(capture, {}).folder;
  fs::current_path(before);
  EXPECT_EQ(found, folder_ / "data/aet-lime");
}

TEST_F(AttentionCommandsTest, LinesHaveWhatThereIs) {
  AttentionCommand command{.capture = "my run.h5",
                           .label = "LIMe",
                           .layer = 1,
                           .head = 3,
                           .sequence = 2,
                           .query = std::nullopt,
                           .checkpoint = {}};
  EXPECT_EQ(attentionCommandLines(command),
            (QStringList{"lime-metrics attention 'my run.h5' --label LIMe --layer 1 --head 3 "
                         "--sequence 2 -o attention.json",
                         "lime-figure attention.json -o attention.pdf"}));
  command.layer_base = 1;
  EXPECT_EQ(attentionCommandLines(command).last(),
            "lime-figure attention.json --layer-base 1 -o attention.pdf");
}

TEST_F(AttentionCommandsTest, TheHeadSaysWhereItLooks) {
  const CaptureReader capture(lime::testing::golden_file("attention/capture.h5"));
  const QString line = headSummary(PatternReader(capture).read(2, 1), 0);
  EXPECT_TRUE(line.contains("tokens back; first ")) << line.toStdString();
  EXPECT_TRUE(line.contains("attention sink"));
}

TEST_F(AttentionCommandsTest, ThePointerFindsWhatAHeadIsLike) {
  const QString capture = toQString(lime::testing::golden_file("attention/capture.h5"));
  ASSERT_NO_FATAL_FAILURE(showAttentionOf({capture}));
  ASSERT_TRUE(waitUntil([this] { return pane("attention pattern").figure() != nullptr; }));
  const QString help = childCalled<QComboBox>(view_, "Head").toolTip();
  EXPECT_TRUE(help.startsWith("Head 0: entropy ")) << help.toStdString();
  EXPECT_TRUE(help.contains("Xiao et al. 2023")) << help.toStdString();
  bool isOnCaption = false;
  for (const QLabel* const label : view_.findChildren<QLabel*>()) {
    isOnCaption = isOnCaption ||
                  (label->text().startsWith("Attention of head 0") && label->toolTip() == help);
  }
  EXPECT_TRUE(isOnCaption);
}

}  // namespace
}  // namespace lime::explorer::testing
