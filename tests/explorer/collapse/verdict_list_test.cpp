// SPDX-License-Identifier: Apache-2.0
#include "explorer/collapse/verdict_list.h"

#include <QCheckBox>

#include "explorer/collapse/collapse_view_fixture.h"

namespace lime::explorer::testing {
namespace {

class VerdictListTest : public CollapseViewTest {};

TEST_F(VerdictListTest, ListsTheVerdictsOfTheProgramAndMarksTheirRanges) {
  massiveCapture("m.h5");
  open({toQString(folder_ / "m.h5")});
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle() && shownCurves() == 1; })) << shownTexts();
  CollapseAnalysisOptions options;
  options.captures.captures = {folder_ / "m.h5"};
  options.captures.site = {"hidden"};
  const CollapseVerdicts expected = compute_collapse(options, {});
  ASSERT_EQ(expected.ranges.size(), 2U);
  ASSERT_EQ(verdicts().model()->rowCount(), 2);
  EXPECT_EQ(verdict(0, VerdictModel::kVerdict), "no collapse");
  for (int row = 0; row < 2; ++row) {
    const RangeSentence& sentence = expected.ranges.at(static_cast<std::size_t>(row)).sentence;
    EXPECT_EQ(verdict(row, VerdictModel::kLayers), QString::number(row));
    EXPECT_EQ(verdict(row, VerdictModel::kVerdict), toQString(sentence.verdict));
    const QModelIndex index = verdicts().model()->index(row, VerdictModel::kVerdict);
    EXPECT_TRUE(index.data(Qt::ToolTipRole).toString().contains(toQString(sentence.evidence)));
  }
  const std::vector<RangeMark>& marks = shownPanel().ranges;
  ASSERT_EQ(marks.size(), 2U);
  EXPECT_EQ(marks[0].whole_label(), "A: massive tokens");
  EXPECT_EQ(marks[0].low, 0.5);
  EXPECT_EQ(marks[0].high, 1.5);
  EXPECT_EQ(marks[1].label, "cliff");
  EXPECT_TRUE(marks[1].is_line());
  EXPECT_EQ(marks[1].low, 0.5);
  EXPECT_TRUE(view_.commandLines().front().startsWith("lime-metrics collapse "));
}

TEST_F(VerdictListTest, BeginsWithTheCliffAndItsCause) {
  massiveCapture("m.h5");
  open({toQString(folder_ / "m.h5")});
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle() && shownCurves() == 1; })) << shownTexts();
  EXPECT_EQ(view_.findChild<FigurePane*>("curves over layers")->caption(),
            "Cliff at layer 1, the participation ratio falls: massive tokens");
  EXPECT_EQ(verdicts().currentIndex().row(), 1);
  EXPECT_TRUE(evidence().contains("massive tokens carry")) << evidence().toStdString();
  EXPECT_FALSE(workspace_.selection().layer) << "nothing is selected yet";
  Q_EMIT verdicts().clicked(verdicts().currentIndex());
  EXPECT_EQ(workspace_.selection().layer, 1);
}

TEST_F(VerdictListTest, SequencesOfOneTokenAreSkippedWithTheirNumber) {
  lime::testing::SmallCapture short_one = lime::testing::example_capture();
  short_one.lengths = {5, 1, 7, 3};
  lime::testing::write_capture(folder_ / "short.h5", short_one);
  open({toQString(folder_ / "short.h5")});
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle() && shownCurves() == 1; })) << shownTexts();
  EXPECT_EQ(childCalled<QLabel>(view_, "measurement problems").text(),
            "short: skipped 1 sequence of fewer than two tokens");
  Selection selection = workspace_.selection();
  selection.layer = 1;
  workspace_.setSelection(selection);
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle() && table().model()->rowCount() > 0; }));
  EXPECT_EQ(table().model()->rowCount(), 3);
  for (int row = 0; row < 3; ++row) {
    EXPECT_NE(table().model()->index(row, ExtremesModel::kSequence).data().toString(), "1");
  }
}

TEST_F(VerdictListTest, CaveatsNameWhatTheWindowOffers) {
  massiveCapture("m.h5");
  open({toQString(folder_ / "m.h5")});
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle() && shownCurves() == 1; })) << shownTexts();
  EXPECT_FALSE(evidence().contains("--")) << evidence().toStdString();
  EXPECT_TRUE(evidence().contains("Compare with random weights"));
  for (QCheckBox* const box : view_.findChildren<QCheckBox*>()) {
    if (box->text().remove('&') == "Compare with random weights") box->click();
  }
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  EXPECT_TRUE(evidence().contains("random weights need the config of the checkpoint"))
      << evidence().toStdString();
  EXPECT_EQ(undo_.undoText(), "Compare with random weights");
}

TEST_F(VerdictListTest, AVerdictSelectsItsLayersAndShowsTheEvidence) {
  massiveCapture("m.h5");
  open({captureFile("a.h5"), toQString(folder_ / "m.h5")});
  box("Site").setCurrentIndex(box("Site").findData("hidden"));
  Q_EMIT box("Site").activated(box("Site").currentIndex());
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle() && shownCurves() == 2; })) << shownTexts();
  const int last = verdicts().model()->rowCount() - 1;
  ASSERT_EQ(verdict(last, VerdictModel::kCapture), "m");
  verdicts().setCurrentIndex(verdicts().model()->index(last, 0));
  EXPECT_EQ(workspace_.selection().layer, verdict(last, VerdictModel::kLayers).toInt());
  EXPECT_EQ(undo_.undoText(), "Select a verdict");
  EXPECT_TRUE(evidence().contains("massive tokens carry")) << evidence().toStdString();
  EXPECT_TRUE(evidence().contains("What this cannot say:\n- one checkpoint"));
  const QString caption = view_.findChild<FigurePane*>("curves over layers")->caption();
  EXPECT_TRUE(caption.startsWith("Ranges: verdicts on m. Cliff at layer 1"))
      << caption.toStdString();
  undo_.undo();
  EXPECT_FALSE(workspace_.selection().layer);
  EXPECT_FALSE(verdicts().currentIndex().isValid());
  EXPECT_FALSE(evidence().contains("massive tokens carry"));
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
}

TEST(VerdictModelTest, IsAProperModel) {
  VerdictModel model;
  const QAbstractItemModelTester tester(&model,
                                        QAbstractItemModelTester::FailureReportingMode::Fatal);
  model.setRows({{.document = 1, .layers = "2 to 3", .verdict = "no collapse", .evidence = "a<b"}});
  EXPECT_EQ(model.index(0, VerdictModel::kVerdict).data(Qt::ToolTipRole), "<p>a&lt;b</p>");
  model.setRows({});
}

TEST(ExtremesModelTest, IsAProperModel) {
  ExtremesModel model;
  const QAbstractItemModelTester tester(&model,
                                        QAbstractItemModelTester::FailureReportingMode::Fatal);
  model.setRows({{.place = {1, true, 3}, .label = "a", .entropy = 2.0, .text = "x\ny"},
                 {.place = {2, false, 0}, .label = "b", .text = {}}});
  EXPECT_EQ(model.rowCount(), 2);
  EXPECT_EQ(model.index(0, ExtremesModel::kText).data().toString(), "x y");
  EXPECT_EQ(model.index(1, ExtremesModel::kEnd).data().toString(), "highest");
  model.setRows({});
}

}  // namespace
}  // namespace lime::explorer::testing
