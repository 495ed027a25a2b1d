// SPDX-License-Identifier: Apache-2.0
#include <QAction>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSlider>
#include <algorithm>
#include <filesystem>
#include <numeric>

#include "analysis/tsne/tsne_analysis.h"
#include "explorer/embeddings/embeddings_fixture.h"
#include "explorer/models/capture_locator.h"
#include "explorer/results/results_view.h"

namespace lime::explorer::testing {
namespace {

TEST_F(EmbeddingsViewTest, ResultsListEmbeddingsLastAndDoNotOpenOnThem) {
  ResultsView results{ViewContext{workspace_, jobs_, undo_, preferences_}};
  open({resultsFile(), embeddingsFile()});
  const auto& metric = childCalled<QComboBox>(results, "Metric");
  EXPECT_EQ(metric.currentText(), "entropy") << "the embeddings were opened last";
  EXPECT_EQ(metric.itemText(1), "tsne");
}

TEST_F(EmbeddingsViewTest, SaysWhatToDoWithoutEmbeddings) {
  EXPECT_FALSE(view_.figure());
  EXPECT_TRUE(view_.commandLines().isEmpty());
  QString all;
  for (const QLabel* const label : view_.findChildren<QLabel*>()) all += label->text();
  EXPECT_TRUE(all.contains("lime-metrics tsne"));
  EXPECT_FALSE(view_.grab().isNull());
}

TEST_F(EmbeddingsViewTest, ShowsAnEmbeddingPerModelAndExportsIt) {
  ASSERT_NO_FATAL_FAILURE(openEmbeddings());
  EXPECT_EQ(canvas(0).size(), 16);
  ASSERT_TRUE(view_.figure());
  ASSERT_EQ(view_.figure()->panels.size(), 2U);
  EXPECT_EQ(view_.figure()->panels[0].title, "a, layer 0");
  const auto embedding = std::get<ScatterPanel>(view_.figure()->panels.at(0).content);
  EXPECT_EQ(embedding.class_names, (std::vector<std::string>{"is", "are"}));
  EXPECT_TRUE(view_.commandLines().at(0).contains("--site hidden --layer 0"));
}

TEST_F(EmbeddingsViewTest, TheSearchSelectsTheTokenAndItsPointsHaveARing) {
  ASSERT_NO_FATAL_FAILURE(openEmbeddings());
  auto& search = childCalled<QLineEdit>(view_, "find a token");
  QTest::keyClicks(&search, "#3");
  EXPECT_EQ(canvas(0).selected(), std::vector<int>{3});
  EXPECT_EQ(canvas(1).selected(), std::vector<int>{3}) << "of the same text";
  ASSERT_EQ(view_.tokens().rowCount(), 1);
  const QImage drawn = canvas(0).grab().toImage();
  int dark = 0;
  for (int x = -9; x <= 9; ++x) {
    const QPoint at = canvas(0).toPixel(3).toPoint() + QPoint(x, 0);
    if (drawn.valid(at) && drawn.pixelColor(at).lightness() < 60) ++dark;
  }
  EXPECT_GE(dark, 2);
  QTest::keyClicks(&search, "0");
  EXPECT_TRUE(canvas(0).selected().empty()) << "there is no token #30";
}

TEST_F(EmbeddingsViewTest, ANameInTheLegendSelectsItsPoints) {
  ASSERT_NO_FATAL_FAILURE(openEmbeddings());
  for (QLabel* const label : view_.findChildren<QLabel*>()) {
    if (label->text().contains("href='0'")) Q_EMIT label->linkActivated("0");
  }
  EXPECT_FALSE(canvas(0).selected().empty());
  EXPECT_LT(canvas(0).selected().size(), static_cast<std::size_t>(canvas(0).size()));
}

TEST_F(EmbeddingsViewTest, TheSliderMovesPointsFromLayerToLayer) {
  ASSERT_NO_FATAL_FAILURE(openEmbeddings());
  auto& slider = *view_.findChild<QSlider*>();
  ASSERT_EQ(slider.maximum(), 100);
  const QPointF first = canvas(0).toPixel(3);
  slider.setValue(100);
  const QPointF last = canvas(0).toPixel(3);
  slider.setValue(50);
  const QPointF middle = canvas(0).toPixel(3);
  EXPECT_NEAR(middle.x(), 0.5 * (first.x() + last.x()), 1e-3);
  EXPECT_NEAR(middle.y(), 0.5 * (first.y() + last.y()), 1e-3);
}

TEST_F(EmbeddingsViewTest, AnotherViewsLayerIsGoneTo) {
  ASSERT_NO_FATAL_FAILURE(openEmbeddings());
  Selection selection;
  selection.layer = 1;
  workspace_.setSelection(selection);
  ASSERT_TRUE(waitUntil([this] { return view_.findChild<QSlider*>()->value() == 100; }));
  EXPECT_EQ(view_.figure()->panels[0].title, "a, layer 1");
}

TEST_F(EmbeddingsViewTest, ALassoSelectsTheSameTokensInAllModelsAndLayers) {
  ASSERT_NO_FATAL_FAILURE(openEmbeddings());
  EmbeddingCanvas& first = canvas(0);
  const QPointF at = first.toPixel(3);
  lasso(0, QRectF(at - QPointF(6, 6), QSizeF(12, 12)));
  ASSERT_FALSE(workspace_.selection().tokens.empty());
  const std::vector<int> selected = first.selected();
  EXPECT_NE(std::find(selected.begin(), selected.end(), 3), selected.end());
  EXPECT_EQ(canvas(1).selected(), selected);
  EXPECT_EQ(view_.tokens().rowCount(), static_cast<int>(selected.size()));
  view_.findChild<QSlider*>()->setValue(100);
  EXPECT_EQ(first.selected(), selected);
  // With Ctrl more are added; Escape gives all up.
  lasso(0, QRectF(first.rect()).adjusted(2, 2, -2, -2), Qt::ControlModifier);
  EXPECT_EQ(first.selected().size(), 16U);
  for (QAction* const action : view_.actions()) {
    if (action->text() == "Clear selection") action->trigger();
  }
  EXPECT_TRUE(first.selected().empty());
  EXPECT_EQ(view_.tokens().rowCount(), 0);
}

TEST_F(EmbeddingsViewTest, RowsOfAnotherTextAreNotSelectedBesides) {
  ASSERT_NO_FATAL_FAILURE(openEmbeddings("another"));
  lasso(0, QRectF(canvas(0).rect()).adjusted(2, 2, -2, -2));
  EXPECT_EQ(canvas(0).selected().size(), 16U);
  EXPECT_TRUE(canvas(1).selected().empty());
}

TEST_F(EmbeddingsViewTest, AClickFindsNeighboursInTheModel) {
  ASSERT_NO_FATAL_FAILURE(openEmbeddings());
  QTest::mouseClick(&canvas(0), Qt::LeftButton, {}, canvas(0).toPixel(5).toPoint());
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  ASSERT_EQ(view_.tokens().rowCount(), 12);
  const CaptureReader capture(folder_ / "a.h5");
  std::vector<std::int64_t> rows(16);
  std::iota(rows.begin(), rows.end(), 0);
  const int point = canvas(0).nearestPoint(canvas(0).toPixel(5));
  const std::vector<NearRow> near = nearest_rows(capture, "hidden", 0, point, rows, 1);
  EXPECT_EQ(view_.tokens().at(0).point, near.front().row);
  EXPECT_EQ(view_.tokens().at(0).note, QString::number(near.front().distance, 'f', 3));
}

TEST_F(EmbeddingsViewTest, NeighboursAndTheirCentreAreAStepOfUndo) {
  ASSERT_NO_FATAL_FAILURE(openEmbeddings());
  lasso(0, QRectF(canvas(0).rect()).adjusted(2, 2, -2, -2));
  QTest::mouseClick(&canvas(0), Qt::LeftButton, {}, canvas(0).toPixel(5).toPoint());
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  ASSERT_EQ(view_.tokens().rowCount(), 12);
  undo_.undo();
  EXPECT_EQ(view_.tokens().rowCount(), 16) << "the tokens that were selected before";
  undo_.redo();
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  EXPECT_EQ(view_.tokens().rowCount(), 12);
}

TEST_F(EmbeddingsViewTest, PlayingThroughLayersIsOneStep) {
  ASSERT_NO_FATAL_FAILURE(openEmbeddings());
  for (QAction* const action : view_.actions()) {
    if (action->text() == "Play through layers") action->trigger();
  }
  ASSERT_TRUE(waitUntil([this] { return view_.findChild<QSlider*>()->value() == 100; }));
  QTest::qWait(50);
  EXPECT_EQ(undo_.count(), 1);
  EXPECT_EQ(workspace_.selection().layer, 1);
  undo_.undo();
  EXPECT_EQ(view_.findChild<QSlider*>()->value(), 0);
}

TEST_F(EmbeddingsViewTest, AnEmbeddingOfSomeTokensShowsThoseThatItHas) {
  ASSERT_NO_FATAL_FAILURE(openEmbeddings());
  Selection selection;
  selection.tokens = {.text = "same", .places = {{0, 1}, {1, 2}, {1, 30}}};
  workspace_.setSelection(selection);
  EXPECT_EQ(canvas(0).selected(), (std::vector<int>{1, 7}));
  EXPECT_EQ(canvas(1).selected(), (std::vector<int>{1, 7}));
  const auto titles = [this] {
    QString all;
    for (const QLabel* const label : view_.findChildren<QLabel*>()) all += label->text();
    return all;
  };
  selection.tokens = {.text = "another", .places = {{0, 1}}};
  workspace_.setSelection(selection);
  EXPECT_TRUE(canvas(0).selected().empty());
  EXPECT_TRUE(titles().contains("are from a different text than these embeddings"));
  selection.tokens = {.text = "same", .places = {{1, 30}}};
  workspace_.setSelection(selection);
  EXPECT_TRUE(titles().contains("None of the 1 selected tokens")) << titles().toStdString();
}

TEST_F(EmbeddingsViewTest, HoveringSaysWhichTokenItIs) {
  ASSERT_NO_FATAL_FAILURE(openEmbeddings());
  QTest::mouseMove(&canvas(0), canvas(0).toPixel(5).toPoint());
  EXPECT_TRUE(status_.contains("sequence")) << status_.toStdString();
}

TEST_F(EmbeddingsViewTest, ColoursSayClassTokenPositionOrSequence) {
  ASSERT_NO_FATAL_FAILURE(openEmbeddings());
  for (QComboBox* const box : view_.findChildren<QComboBox*>()) {
    if (box->accessibleName() != "Colour") continue;
    for (int i = 0; i < box->count(); ++i) {
      box->setCurrentIndex(i);
      Q_EMIT box->activated(i);
      const auto embedding = std::get<ScatterPanel>(view_.figure()->panels.at(0).content);
      EXPECT_EQ(embedding.classes.size(), 16U) << box->itemText(i).toStdString();
      EXPECT_FALSE(view_.grab().isNull());
    }
  }
}

TEST_F(EmbeddingsViewTest, ACaptureThatHasMovedIsNamedAndItsEmbeddingIsStillShown) {
  const QString file = embeddingsFile();
  std::filesystem::remove(folder_ / "b.h5");
  std::filesystem::remove_all(folder_ / "b.shards");
  open({file});
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle() && view_.canvases().size() == 2U; }));
  QString all;
  for (const QLabel* const label : view_.findChildren<QLabel*>()) all += label->text();
  EXPECT_TRUE(all.contains("b: its capture")) << all.toStdString();
  // The neighbours are those of the current embedding.
  QTest::mouseClick(&canvas(1), Qt::LeftButton, {}, canvas(1).toPixel(5).toPoint());
  EXPECT_EQ(view_.tokens().rowCount(), 12);
}

TEST_F(EmbeddingsViewTest, AMovedCaptureThatIsLocatedGivesSentencesAndNeighbours) {
  const QString file = embeddingsFile();
  std::filesystem::create_directory(folder_ / "moved");
  for (const char* const name : {"b.h5", "b.shards"}) {
    if (!std::filesystem::exists(folder_ / name)) continue;
    std::filesystem::rename(folder_ / name, folder_ / "moved" / name);
  }
  open({file});
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle() && view_.canvases().size() == 2U; }));
  const auto problems = [this] {
    QString all;
    for (const QLabel* const label : view_.findChildren<QLabel*>()) all += label->text();
    return all;
  };
  ASSERT_TRUE(problems().contains("b: its capture"));
  // The captures of this test contain no text.
  CaptureLocator::Moves moves;
  moves.insert(toQString(folder_ / "b.h5"), toQString(folder_ / "moved" / "b.h5"));
  workspace_.setMoves(moves);
  workspace_.reload(workspace_.documents().front().id);
  ASSERT_TRUE(waitUntil([&] { return jobs_.isIdle() && !problems().contains("its capture"); }));
}

TEST_F(EmbeddingsViewTest, ReloadReadsRewrittenEmbeddings) {
  ASSERT_NO_FATAL_FAILURE(openEmbeddings());
  const QPointF before = canvas(0).toPixel(3) - canvas(0).toPixel(4);
  std::vector<CaptureEmbeddings> all;
  for (const char* const name : {"a", "b"}) {
    all.push_back(embeddings(name, CaptureReader(folder_ / (std::string(name) + ".h5")), 40));
  }
  write_embeddings(folder_ / "tsne.embeddings.h5", all);
  workspace_.reload(workspace_.documents().front().id);
  ASSERT_TRUE(waitUntil([&] {
    return jobs_.isIdle() && view_.canvases().size() == 2U &&
           canvas(0).toPixel(3) - canvas(0).toPixel(4) != before;
  }));
}

TEST_F(EmbeddingsViewTest, UndoTakesBackColoursLayerAndTokens) {
  ASSERT_NO_FATAL_FAILURE(openEmbeddings());
  const Json first = view_.state();
  QComboBox* colours = nullptr;
  for (QComboBox* const box : view_.findChildren<QComboBox*>()) {
    if (box->accessibleName() == "Colour") colours = box;
  }
  ASSERT_NE(colours, nullptr);
  colours->setCurrentIndex(2);
  Q_EMIT colours->activated(2);
  view_.findChild<QSlider*>()->setValue(100);
  EXPECT_EQ(workspace_.selection().layer, 1);
  lasso(0, QRectF(canvas(0).rect()).adjusted(2, 2, -2, -2));
  ASSERT_EQ(canvas(0).selected().size(), 16U);
  ASSERT_EQ(undo_.count(), 3);
  canvas(0).zoom(4.0);
  ASSERT_EQ(undo_.count(), 4);
  undo_.undo();
  const QPointF place = canvas(0).toPixel(3);
  undo_.redo();
  EXPECT_NE(canvas(0).toPixel(3), place);
  undo_.undo();
  EXPECT_EQ(canvas(0).toPixel(3), place);
  undo_.undo();
  EXPECT_TRUE(canvas(0).selected().empty());
  EXPECT_EQ(canvas(0).toPixel(3), place);
  undo_.undo();
  EXPECT_EQ(view_.findChild<QSlider*>()->value(), 0);
  undo_.undo();
  EXPECT_EQ(colours->currentText(), "class");
  EXPECT_EQ(view_.state(), first);
  for (int i = 0; i < 4; ++i) undo_.redo();
  EXPECT_EQ(canvas(0).selected().size(), 16U);
  EXPECT_EQ(view_.findChild<QSlider*>()->value(), 100);
}

TEST_F(EmbeddingsViewTest, EmbeddingsThatAreBrokenSaySo) {
  const QString file = embeddingsFile();
  open({file});
  lime::testing::write_text(folder_ / "tsne.embeddings.h5", "nothing");
  workspace_.closeAll();
  EXPECT_TRUE(view_.canvases().empty());
  open({file});
  EXPECT_TRUE(view_.canvases().empty());
  EXPECT_FALSE(refused_.isEmpty());
}

TEST_F(EmbeddingsViewTest, ComputesEmbeddingsOfOpenCaptures) {
  lime::testing::SmallCapture capture;
  capture.lengths = {40, 60};
  for (const int layer : {0, 1}) {
    capture.activations.push_back(
        {"hidden", layer, lime::testing::random_matrix(100, 6, static_cast<unsigned>(layer))});
  }
  lime::testing::write_capture(folder_ / "run.h5", capture);
  open({toQString(folder_ / "run.h5")});
  auto* const compute = view_.findChild<QPushButton*>();
  ASSERT_TRUE(waitUntil([&] { return compute->isEnabled(); }));
  QTest::mouseClick(compute, Qt::LeftButton);
  EXPECT_FALSE(compute->isEnabled());
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  ASSERT_EQ(view_.canvases().size(), 1U);
  EXPECT_EQ(canvas(0).size(), 100);
  EXPECT_TRUE(view_.commandLines().at(0).contains("lime-metrics tsne"));
  auto& method = childCalled<QComboBox>(view_, "Method");
  method.setCurrentIndex(method.findText("PCA"));
  Q_EMIT method.activated(method.currentIndex());
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  EXPECT_EQ(canvas(0).size(), 100);
  EXPECT_TRUE(view_.commandLines().at(0).contains("--iterations 0"));
}

TEST_F(EmbeddingsViewTest, ACancelledComputationLeavesTheViewReady) {
  open({captureFile()});
  auto* const compute = view_.findChild<QPushButton*>();
  QTest::mouseClick(compute, Qt::LeftButton);
  jobs_.cancelAll();
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  EXPECT_TRUE(compute->isEnabled());
}

}  // namespace
}  // namespace lime::explorer::testing
