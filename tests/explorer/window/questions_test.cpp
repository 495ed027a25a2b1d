// SPDX-License-Identifier: Apache-2.0
// The start page: its questions, their answers from data, and the way to the views behind them.
#include <QDir>
#include <QSettings>
#include <QTest>
#include <set>

#include "analysis/router/checkpoint_routers.h"
#include "checkpoint/checkpoint.h"
#include "explorer/explorer_fixture.h"
#include "explorer/widgets/notice_bar.h"
#include "explorer/window/main_window.h"
#include "explorer/window/question_card.h"
#include "store/results_file.h"
#include "support/test_data.h"

namespace lime::explorer::testing {
namespace {

class QuestionsTest : public WorkspaceTest {
 protected:
  QuestionsTest() {
    QSettings().clear();
    QDir::setCurrent(toQString(folder_.path()));
    window_.resize(1280, 720);
  }
  ~QuestionsTest() override { QDir::setCurrent(before_); }

  void idle() {
    ASSERT_TRUE(waitUntil([this] { return window_.jobs().isIdle(); }));
  }
  QuestionCard& card(int number) { return *window_.findChildren<QuestionCard*>().at(number); }
  /// Writes the entropies of the hidden states of two models over three layers, and the accuracy of
  /// a probe in each.
  void writeResults(const std::vector<double>& first, const std::vector<double>& second) {
    std::filesystem::create_directories(folder_ / "out");
    Results entropy;
    entropy.metric = "entropy";
    Results probes;
    probes.metric = "separability";
    for (const auto& [label, means] : {std::pair("LLaMA", first), std::pair("LIMe", second)}) {
      for (int layer = 0; layer < 3; ++layer) {
        const double mean = means[static_cast<std::size_t>(layer)];
        entropy.rows.push_back({{col::kLabel, label},
                                {col::kSite, "hidden"},
                                {col::kLayer, layer},
                                {col::kMean, mean},
                                {col::kCiLow, mean},
                                {col::kCiHigh, mean},
                                {col::kCeiling, 3.0}});
        probes.rows.push_back({{col::kLabel, label},
                               {col::kSite, "hidden"},
                               {col::kLayer, layer},
                               {col::kLabels, "words"},
                               {col::kMean, 0.9 - 0.1 * layer},
                               {col::kMajority, 0.25}});
      }
    }
    write_results(folder_ / "out" / "entropy.json", entropy);
    write_results(folder_ / "out" / "separability.json", probes);
  }

  const QString before_ = QDir::currentPath();
  MainWindow window_;
};

TEST_F(QuestionsTest, AnAnswerIsComputedFromTheCheckpoint) {
  window_.show();
  ASSERT_TRUE(waitUntil([this] { return card(0).isEnabled(); }));
  const Checkpoint checkpoint = Checkpoint::open(toPath(findAbove(u"data/aet-lime"_s)));
  const CheckpointRouters routers(checkpoint);
  const MatrixD shares = routers.layer_values(RouterQuantity::kShare);
  Eigen::Index most = 1;
  for (Eigen::Index l = 1; l < routers.num_layers(); ++l) {
    if (shares(l, 0) * static_cast<double>(l + 1) > shares(most, 0) * static_cast<double>(most + 1))
      most = l;
  }
  const QString sentence = card(0).finding()->sentence;
  const double times = shares(most, 0) * static_cast<double>(most + 1);
  EXPECT_TRUE(sentence.endsWith(
      u"The most is %1 times 1/n, in layer %2."_s.arg(times, 0, 'f', 2).arg(most)))
      << sentence.toStdString();
}

TEST_F(QuestionsTest, OneClickOrEnterShowsTheViewBelowItsAnswer) {
  window_.show();
  ASSERT_TRUE(waitUntil([this] { return card(0).isEnabled(); }));
  window_.activateWindow();
  ASSERT_TRUE(QTest::qWaitForWindowActive(&window_));
  const QString sentence = card(0).finding()->sentence;
  card(0).setFocus(Qt::TabFocusReason);
  QTest::keyClick(&card(0), Qt::Key_Return);
  ASSERT_NO_FATAL_FAILURE(idle());
  EXPECT_FALSE(window_.showsStartPage());
  EXPECT_EQ(window_.currentView()->title(), "Router");
  EXPECT_TRUE(window_.currentView()->figure());
  const auto* const notice = window_.findChild<NoticeBar*>();
  EXPECT_TRUE(notice->isVisible());
  EXPECT_EQ(notice->text(), sentence);
}

TEST_F(QuestionsTest, TabReachesTheCardsFromTheFirstAnswerOn) {
  window_.show();
  window_.activateWindow();
  ASSERT_TRUE(QTest::qWaitForWindowActive(&window_));
  ASSERT_TRUE(waitUntil([this] { return card(0).isEnabled(); }));
  EXPECT_TRUE(card(0).hasFocus()) << "Enter opens the first answer";
  std::set<QWidget*> reached;
  for (int i = 0; i < 30; ++i) {
    reached.insert(QApplication::focusWidget());
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
  }
  for (QuestionCard* const one : window_.findChildren<QuestionCard*>()) {
    EXPECT_EQ(reached.contains(one), one->isEnabled()) << one->accessibleName().toStdString();
  }
  EXPECT_GE(reached.size(), 5U) << "the links, the list of views and that of documents too";
}

TEST_F(QuestionsTest, AModelHasOneColourInAllAnswersAndViews) {
  window_.show();
  ASSERT_TRUE(waitUntil([this] { return card(0).isEnabled(); }));
  const auto& panel = std::get<CurvePanel>(card(0).finding()->figure.panels.front().content);
  const int lime = static_cast<int>(answeringModels().indexOf("aet-lime"));
  EXPECT_EQ(panel.curves.front().style.colour, static_cast<std::size_t>(lime));
  card(0).click();
  ASSERT_NO_FATAL_FAILURE(idle());
  EXPECT_EQ(window_.workspace().colourOf("aet-lime"), lime);
  EXPECT_EQ(window_.workspace().documents().front().colour, lime);
}

TEST_F(QuestionsTest, TheLargestDropOfEntropyIsNamedWithTheProbeThere) {
  if (!findAbove(u"out/entropy.json"_s).isEmpty()) GTEST_SKIP() << "the demo would be read";
  writeResults({2.0, 2.2, 1.9}, {2.0, 1.5, 1.6});
  EXPECT_EQ(allQuestions()[1].find().sentence.toStdString(),
            "The entropy of the hidden states drops most into layer 1 of LIMe, from 2.00 to 1.50 "
            "nats. A probe still recognises 80% of the numbers there (chance: 25%).");
  writeResults({2.0, 2.2, 2.3}, {2.0, 2.5, 2.6});
  EXPECT_EQ(allQuestions()[1].find().sentence.toStdString(),
            "The entropy of the hidden states drops into no layer.");
}

TEST_F(QuestionsTest, AQuestionWithoutItsFilesSaysHowToGetThem) {
  if (!findAbove(u"out/aet-lime.h5"_s).isEmpty()) GTEST_SKIP() << "the demo was run";
  window_.show();
  ASSERT_TRUE(waitUntil([this] { return card(0).isEnabled(); }));
  EXPECT_FALSE(card(1).isEnabled());
  EXPECT_TRUE(card(1).accessibleDescription().contains("scripts/demo.sh"));
}

}  // namespace
}  // namespace lime::explorer::testing
