// SPDX-License-Identifier: Apache-2.0
#include "explorer/collapse/collapse_view.h"

#include <QAbstractItemModelTester>
#include <filesystem>
#include <stdexcept>

#include "explorer/collapse/collapse_view_fixture.h"
#include "explorer/widgets/figure_pane.h"
#include "explorer/widgets/play_bar.h"
#include "explorer/window/export_dialog.h"

namespace lime::explorer::testing {
namespace {

TEST_F(CollapseViewTest, AClickOnALegendEntryHidesTheCurve) {
  openTwo();
  const QString hidden = workspace_.uniqueLabel(workspace_.documents()[1]);
  QPoint entry;
  for (int y = 0; y < plot().height() && entry.isNull(); y += 2) {
    for (int x = 0; x < plot().width(); x += 4) {
      if (plot().legendLabelAt(QPointF(x, y)) == hidden) entry = {x, y};
    }
  }
  ASSERT_FALSE(entry.isNull());
  QTest::mouseClick(&plot(), Qt::LeftButton, {}, entry);
  EXPECT_EQ(shownCurves(), 1U);
  EXPECT_FALSE(workspace_.documents()[1].is_shown);
  workspace_.setShown(workspace_.documents()[1].id, true);
  EXPECT_EQ(shownCurves(), 2U);
}

TEST_F(CollapseViewTest, DrawsDifferencesToTheFirstCapture) {
  QComboBox& show = box("Show");
  show.setCurrentIndex(show.findData("differences"));
  Q_EMIT show.activated(show.currentIndex());
  captureFile("a.h5");
  lime::testing::write_capture(folder_ / "b.h5", lime::testing::example_capture(7));
  open({toQString(folder_ / "a.h5")});
  EXPECT_TRUE(plot().message().contains("needs two captures"));
  open({toQString(folder_ / "b.h5")});
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle() && shownCurves() == 1; })) << shownTexts();
  const auto panel = std::get<CurvePanel>(view_.figure()->panels.at(0).content);
  EXPECT_EQ(panel.curves[0].label, "b \xE2\x88\x92 a");
  EXPECT_FALSE(panel.curves[0].low.empty());
  EXPECT_TRUE(view_.commandLines().front().contains("--compare first"));
}

TEST_F(CollapseViewTest, PlaysTheStepsOfATrainingRun) {
  for (const int step : {100, 20, 3}) captureFile("lime-step-" + std::to_string(step) + ".h5");
  auto* const animation = view_.findChild<PlayBar*>();
  EXPECT_FALSE(animation->isVisible());
  open({toQString(folder_ / "lime-step-100.h5"), toQString(folder_ / "lime-step-20.h5"),
        toQString(folder_ / "lime-step-3.h5")});
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle() && shownCurves() == 3; })) << shownTexts();
  ASSERT_TRUE(animation->isVisible());
  const auto emphasised = [this] {
    std::vector<std::string> labels;
    for (const Curve& curve : std::get<CurvePanel>(plot().figure()->panels[0].content).curves) {
      if (!curve.style.is_faint) labels.push_back(curve.label);
    }
    return labels;
  };
  EXPECT_EQ(emphasised().size(), 3U);
  animation->step(1);
  EXPECT_EQ(emphasised(), std::vector<std::string>{"lime-step-3"});
  EXPECT_EQ(view_.findChild<FigurePane*>("curves over layers")->caption(), "Step 3 (1 of 3)");
  EXPECT_EQ(view_.commandLines().size(), 1) << "no recipe emphasises a step";
  animation->setPlaying(true);
  EXPECT_TRUE(waitUntil([&] { return emphasised() == std::vector<std::string>{"lime-step-100"}; }));
  EXPECT_TRUE(waitUntil([&] { return emphasised().size() == 3; })) << "all steps, then again";
  animation->setPlaying(false);
}

TEST_F(CollapseViewTest, OffersTheProbesOfTheLayer) {
  ASSERT_NO_FATAL_FAILURE(openTwo());
  clickLayer(1);
  QString asked;
  QObject::connect(&view_, &View::viewRequested, [&](const QString& id) { asked = id; });
  for (QLabel* const label : view_.findChildren<QLabel*>()) {
    if (label->text().contains("href")) Q_EMIT label->linkActivated("probes");
  }
  EXPECT_EQ(asked, "probes");
}

TEST_F(CollapseViewTest, SaysWhatToDoWithoutACapture) {
  EXPECT_FALSE(view_.figure());
  EXPECT_TRUE(view_.commandLines().isEmpty());
  EXPECT_FALSE(view_.grab().isNull());
}

TEST_F(CollapseViewTest, OffersOnlySitesOfRepresentations) {
  lime::testing::SmallCapture capture = lime::testing::example_capture();
  capture.activations.push_back({"attn.hook_pattern", 0, MatrixF::Ones(16, 8)});
  lime::testing::write_capture(folder_ / "patterns.h5", capture);
  open({toQString(folder_ / "patterns.h5")});
  EXPECT_GT(box("Site").count(), 0);
  EXPECT_EQ(box("Site").findData("attn.hook_pattern"), -1);
}

TEST_F(CollapseViewTest, DrawsACurvePerCaptureWithABand) {
  ASSERT_NO_FATAL_FAILURE(openTwo());
  const auto panel = std::get<CurvePanel>(view_.figure()->panels.at(0).content);
  ASSERT_EQ(panel.curves.size(), 2U);
  EXPECT_EQ(panel.curves[0].label, "a");
  EXPECT_EQ(panel.curves[1].label, "b");
  EXPECT_EQ(panel.curves[0].spread, Curve::Spread::kBand);
  EXPECT_NE(panel.curves[0].style.colour, panel.curves[1].style.colour);
  EXPECT_EQ(box("Site").currentData().toString(), "hidden");  // as lime-metrics collapse
}

TEST_F(CollapseViewTest, MeasuresGeometryWhenItIsAskedFor) {
  ASSERT_NO_FATAL_FAILURE(openTwo());
  QComboBox& measure = box("Measure");
  measure.setCurrentIndex(measure.findText("Effective rank"));
  Q_EMIT measure.activated(measure.currentIndex());
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  ASSERT_TRUE(view_.figure());
  EXPECT_EQ(view_.figure()->panels.at(0).y.label, "effective rank");
  EXPECT_TRUE(view_.commandLines().last().contains("--measure effective_rank"));
}

TEST_F(CollapseViewTest, ClickingALayerShowsItsSpectrumAndTheSequencesAtTheExtremes) {
  ASSERT_NO_FATAL_FAILURE(openTwo());
  ASSERT_NO_FATAL_FAILURE(clickLayer(1));
  EXPECT_EQ(workspace_.selection().layer, 1);
  ASSERT_NE(spectrum().figure(), nullptr);
  const auto& panel = std::get<CurvePanel>(spectrum().figure()->panels[0].content);
  ASSERT_EQ(panel.curves.size(), 2U) << shownTexts();
  EXPECT_EQ(panel.curves[0].x.size(), 6U);  // eigenvalues of hidden states
  EXPECT_TRUE(spectrum().figure()->panels[0].x.logarithmic);
  // Three sequences of two captures: two at the lower end, one at the upper.
  ASSERT_EQ(table().model()->rowCount(), 6);
  EXPECT_EQ(table().model()->index(0, ExtremesModel::kEnd).data().toString(), "lowest");
  // The pane that was used last is exported.
  EXPECT_EQ(view_.figure()->panels.size(), 1U);
  QTest::mouseClick(&spectrum(), Qt::LeftButton, {}, QPoint(40, 40));
  EXPECT_EQ(view_.figure()->name, "spectrum");
}

TEST_F(CollapseViewTest, ASequenceOfTheTableIsDrawnAndSelected) {
  ASSERT_NO_FATAL_FAILURE(openTwo());
  ASSERT_NO_FATAL_FAILURE(clickLayer(0));
  table().setCurrentIndex(table().model()->index(0, 0));
  const auto& panel = std::get<CurvePanel>(spectrum().figure()->panels[0].content);
  ASSERT_EQ(panel.curves.size(), 3U) << shownTexts();
  EXPECT_EQ(panel.curves[1].style.pattern, LinePattern::kDotted);
  const int sequence =
      table().model()->index(0, ExtremesModel::kSequence).data().toString().toInt();
  const std::vector<int> lengths = {5, 8, 3};
  const std::vector<TokenPlace>& selected = workspace_.selection().tokens.places;
  ASSERT_FALSE(selected.empty());
  EXPECT_EQ(selected.front(), (TokenPlace{sequence, 0}));
  EXPECT_EQ(selected.back(), (TokenPlace{sequence, lengths.at(sequence) - 1}));
}

TEST_F(CollapseViewTest, TheSequenceOfTheTableIsAStepOfUndo) {
  ASSERT_NO_FATAL_FAILURE(openTwo());
  ASSERT_NO_FATAL_FAILURE(clickLayer(0));
  const auto numCurves = [this] {
    return std::get<CurvePanel>(spectrum().figure()->panels[0].content).curves.size();
  };
  table().setCurrentIndex(table().model()->index(0, 0));
  ASSERT_EQ(numCurves(), 3U) << view_.state().dump();
  table().setCurrentIndex(table().model()->index(1, 0));
  ASSERT_EQ(numCurves(), 3U) << view_.state().dump() << table().currentIndex().row() << " of "
                             << table().model()->rowCount();
  EXPECT_EQ(undo_.undoText(), "Select a sequence");
  undo_.undo();
  EXPECT_EQ(numCurves(), 2U) << "a walk is one step";
  EXPECT_FALSE(table().currentIndex().isValid());
  EXPECT_TRUE(workspace_.selection().tokens.empty());
  EXPECT_EQ(workspace_.selection().layer, 0);
  undo_.redo();
  EXPECT_EQ(numCurves(), 3U);
  EXPECT_EQ(table().currentIndex().row(), 1);
}

TEST_F(CollapseViewTest, HoveringSaysWhatLiesThere) {
  ASSERT_NO_FATAL_FAILURE(openTwo());
  QTest::mouseMove(&plot(), place(1));
  EXPECT_TRUE(status_.contains("layer 1: entropy")) << status_.toStdString();
}

TEST_F(CollapseViewTest, LayersAreWalkedByKeyboard) {
  ASSERT_NO_FATAL_FAILURE(openTwo());
  view_.activateWindow();
  ASSERT_TRUE(QTest::qWaitForWindowActive(&view_));
  QTest::keyClick(&view_, Qt::Key_Right, Qt::AltModifier);
  EXPECT_EQ(workspace_.selection().layer, 0);
  QTest::keyClick(&view_, Qt::Key_Right, Qt::AltModifier);
  EXPECT_EQ(workspace_.selection().layer, 1);
  QTest::keyClick(&view_, Qt::Key_Right, Qt::AltModifier);
  EXPECT_EQ(workspace_.selection().layer, 1);
  waitUntil([this] { return jobs_.isIdle(); });
}

TEST_F(CollapseViewTest, ACancelledMeasurementSaysHowToGoOn) {
  view_.hide();
  open({captureFile("a.h5")});
  EXPECT_FALSE(view_.figure());
  view_.show();
  EXPECT_FALSE(jobs_.isIdle());
  jobs_.cancelAll();
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  const QString obstacle = view_.obstacle(workspace_.documents().front());
  EXPECT_TRUE(obstacle.contains("Recompute")) << obstacle.toStdString();
  EXPECT_TRUE(evidence().contains("Recompute")) << evidence().toStdString();
  for (QAction* const action : view_.actions()) {
    if (action->text() == "Recompute") action->trigger();
  }
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  EXPECT_TRUE(view_.figure());
}

TEST_F(CollapseViewTest, ACaptureThatCannotBeMeasuredIsNamedAndTheOthersAreDrawn) {
  lime::testing::SmallCapture some = lime::testing::example_capture();
  some.class_names = {" is"};
  lime::testing::write_capture(folder_ / "words.h5", some);
  open({captureFile("a.h5"), toQString(folder_ / "words.h5")});
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle() && plot().figure() != nullptr; }));
  EXPECT_EQ(view_.obstacle(workspace_.documents().front()), QString());
  EXPECT_EQ(view_.obstacle(workspace_.documents().back()),
            u"it does not contain every token of a sequence"_s);
  ASSERT_TRUE(view_.figure());
  EXPECT_EQ(std::get<CurvePanel>(view_.figure()->panels[0].content).curves.size(), 1U);
}

TEST_F(CollapseViewTest, SaysWhyWhatIsMeasuredCannotBeDrawn) {
  preferences_.layer_base = 2;
  open({captureFile("a.h5")});
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  EXPECT_EQ(plot().figure(), nullptr);
  EXPECT_EQ(plot().message(), "layer base: must be 0 or 1, got 2");
}

TEST_F(CollapseViewTest, SaysThatCapturesOfDifferentTextsDoNotCompare) {
  for (const std::string name : {"a", "b", "c"}) {
    lime::testing::SmallCapture capture = lime::testing::example_capture();
    capture.text_sha256 = name == "c" ? "another" : "one";
    lime::testing::write_capture(folder_ / (name + ".h5"), capture);
  }
  const auto problems = [this] {
    QString all;
    for (const QLabel* const label : view_.findChildren<QLabel*>()) all += label->text();
    return all;
  };
  open({toQString(folder_ / "a.h5"), toQString(folder_ / "b.h5")});
  EXPECT_FALSE(problems().contains("different texts"));
  open({toQString(folder_ / "c.h5")});
  EXPECT_TRUE(problems().contains("a and c were captured from different texts"))
      << problems().toStdString();
}

TEST_F(CollapseViewTest, AReloadedCaptureIsMeasuredAgain) {
  open({captureFile("a.h5")});
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle() && plot().figure() != nullptr; }));
  const auto mean = [this] {
    return std::get<CurvePanel>(plot().figure()->panels[0].content).curves[0].y[0];
  };
  const double before = mean();
  std::filesystem::remove_all(folder_ / "a.h5");
  std::filesystem::remove_all(folder_ / "a.shards");
  lime::testing::write_capture(folder_ / "a.h5", lime::testing::example_capture(3));
  workspace_.reload(workspace_.documents().front().id);
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle() && plot().figure() != nullptr; }));
  EXPECT_NE(mean(), before);
}

TEST_F(CollapseViewTest, UndoTakesBackMeasureSequencesAndLayer) {
  ASSERT_NO_FATAL_FAILURE(openTwo());
  const Json first = view_.state();
  QComboBox& measure = box("Measure");
  measure.setCurrentIndex(2);
  Q_EMIT measure.activated(2);
  QComboBox& sequences = box("Sequences");
  sequences.setCurrentIndex(1);
  Q_EMIT sequences.activated(1);
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  ASSERT_NO_FATAL_FAILURE(clickLayer(1));
  ASSERT_EQ(undo_.count(), 3);
  const Json last = view_.state();
  EXPECT_EQ(last["layer"], 1);
  undo_.undo();
  EXPECT_FALSE(workspace_.selection().layer);
  undo_.undo();
  undo_.undo();
  EXPECT_EQ(view_.state(), first);
  for (int i = 0; i < 3; ++i) undo_.redo();
  EXPECT_EQ(view_.state(), last);
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
}

TEST_F(CollapseViewTest, WhatIsShownIsExportedOrTheReasonIsGiven) {
  ASSERT_NO_FATAL_FAILURE(openTwo());
  ASSERT_NO_FATAL_FAILURE(clickLayer(1));
  ExportDialog dialog(*view_.figure(), view_.provenance());
  dialog.setPath(toQString(folder_ / "no/such/folder/collapse.pdf"));
  dialog.accept();
  EXPECT_TRUE(dialog.problem().contains("does not exist")) << dialog.problem().toStdString();
  dialog.setPath(toQString(folder_ / "collapse.pdf"));
  dialog.accept();
  EXPECT_TRUE(std::filesystem::exists(folder_ / "collapse.pdf"));
}

TEST_F(CollapseViewTest, AClosedCaptureLeavesTheFigure) {
  ASSERT_NO_FATAL_FAILURE(openTwo());
  workspace_.close(workspace_.documents().front().id);
  ASSERT_TRUE(view_.figure());
  EXPECT_EQ(std::get<CurvePanel>(view_.figure()->panels[0].content).curves.size(), 1U);
  workspace_.closeAll();
  EXPECT_FALSE(view_.figure());
}

TEST_F(CollapseViewTest, StateComesBack) {
  ASSERT_NO_FATAL_FAILURE(openTwo());
  Json state = view_.state();
  state["measure"] = "curvature";
  state["site"] = "hidden";
  view_.setState(state);
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  EXPECT_EQ(view_.state(), state);
  EXPECT_EQ(view_.figure()->panels.at(0).y.label, "curvature (degrees)");
}

}  // namespace
}  // namespace lime::explorer::testing
