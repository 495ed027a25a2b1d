// SPDX-License-Identifier: Apache-2.0
#include "explorer/probes/probes_view.h"

#include <QAbstractItemModelTester>
#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QTableView>
#include <QTest>
#include <QUndoStack>
#include <filesystem>
#include <stdexcept>

#include "analysis/blimp/blimp_analysis.h"
#include "analysis/engine/run_analysis.h"
#include "analysis/separability/separability_analysis.h"
#include "analysis/write_capture.h"
#include "analysis/write_pairs.h"
#include "explorer/explorer_fixture.h"
#include "explorer/models/text.h"
#include "explorer/models/token_rows.h"
#include "explorer/probes/prediction_list.h"
#include "explorer/probes/probe_detail.h"
#include "explorer/probes/probe_question.h"
#include "explorer/probes/probe_source.h"
#include "explorer/probes/task_table.h"
#include "explorer/widgets/figure_view.h"
#include "explorer/window/export_dialog.h"
#include "store/results_file.h"
#include "support/result_rows.h"

namespace lime::explorer::testing {
namespace {

constexpr int kRows = 90;

/// Three words that two layers separate, the second one better.
lime::testing::SmallCapture words(std::uint64_t seed = 1) {
  lime::testing::SmallCapture capture;
  capture.lengths.assign(kRows / 3, 3);
  capture.class_names = {" is", " are", " was"};
  for (const int layer : {0, 1}) {
    MatrixF rows = lime::testing::random_matrix(kRows, 5, seed + static_cast<unsigned>(layer));
    for (int i = 0; i < kRows; ++i) {
      if (layer == 0) capture.class_id.push_back(static_cast<std::int16_t>(i % 3));
      rows(i, i % 3) += 0.8F + 0.8F * static_cast<float>(layer);
    }
    capture.activations.push_back({"values", layer, rows});
  }
  return capture;
}

class ProbesViewTest : public WorkspaceTest {
 protected:
  ProbesViewTest() {
    view_.resize(1100, 660);
    view_.show();
    QObject::connect(&view_, &View::status, [this](const QString& text) { status_ = text; });
  }

  FigureView& curves() { return childCalled<FigureView>(view_, "accuracy over layers"); }
  FigureView& confusion() { return childCalled<FigureView>(view_, "confusion matrix"); }
  QTableView& table() { return childCalled<QTableView>(view_, "predictions of the probe"); }
  QTableView& tasks() { return childCalled<QTableView>(view_, "accuracy of tasks and layers"); }
  double accuracyAt(int row, int column) {
    return tasks().model()->index(row, column).data(TasksModel::kSort).toDouble();
  }
  QComboBox& box(const QString& name) { return childCalled<QComboBox>(view_, name); }
  void select(const QString& name, const QString& entry) {
    QComboBox& one = box(name);
    one.setCurrentIndex(one.findText(entry));
    ASSERT_EQ(one.currentText(), entry);
    Q_EMIT one.activated(one.currentIndex());
    ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  }
  void openAndWait(const QStringList& paths) {
    open(paths);
    ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle() && curves().figure() != nullptr; }))
        << labels().toStdString();
  }
  QString wordsFile(const std::string& name = "words.h5", std::uint64_t seed = 1) {
    lime::testing::write_capture(folder_ / name, words(seed));
    return toQString(folder_ / name);
  }
  QString pairsFile() {
    lime::testing::write_pairs(folder_ / "pairs.h5", lime::testing::example_pairs());
    return toQString(folder_ / "pairs.h5");
  }
  /// Writes results of the words, with non-default options.
  QString resultsOfWords() {
    SeparabilityOptions options;
    options.captures.captures = {toPath(wordsFile())};
    options.captures.label = {"LIMe"};
    options.folds = 3;
    options.random_state = 7;
    write_results(folder_ / "words.json",
                  run_analysis(prepare_separability(options, {}), {}).results);
    return toQString(folder_ / "words.json");
  }
  QPoint place(int layer, std::size_t curve = 0) {
    const auto& panel = std::get<CurvePanel>(curves().figure()->panels[0].content);
    return curves()
        .toPixel(0, QPointF(layer, panel.curves[curve].y[static_cast<std::size_t>(layer)]))
        .toPoint();
  }
  void clickLayer(int layer, std::size_t curve = 0) {
    QTest::mouseClick(&curves(), Qt::LeftButton, {}, place(layer, curve));
    ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  }
  QString labels() {
    QString all;
    for (const QLabel* const label : view_.findChildren<QLabel*>()) all += label->text();
    return all;
  }

  Preferences preferences_;
  QUndoStack undo_;
  ProbesView view_{ViewContext{workspace_, jobs_, undo_, preferences_}};
  QString status_;
};

TEST_F(ProbesViewTest, SaysWhatToOpen) {
  EXPECT_FALSE(view_.figure());
  EXPECT_TRUE(view_.commandLines().isEmpty());
  EXPECT_FALSE(view_.grab().isNull());
}

TEST_F(ProbesViewTest, DrawsACurvePerCaptureWithErrorBars) {
  ASSERT_NO_FATAL_FAILURE(openAndWait({wordsFile("a.h5"), wordsFile("b.h5", 7)}));
  const auto& panel = std::get<CurvePanel>(curves().figure()->panels.at(0).content);
  ASSERT_EQ(panel.curves.size(), 2U);
  EXPECT_EQ(panel.curves[0].label, "a");
  EXPECT_EQ(panel.curves[1].label, "b");
  EXPECT_EQ(panel.curves[0].spread, Curve::Spread::kBars);
  EXPECT_GT(panel.curves[0].y[1], panel.curves[0].y[0]);
  EXPECT_TRUE(view_.commandLines().at(0).contains("lime-metrics separability"));
}

TEST_F(ProbesViewTest, ClickingALayerShowsItsConfusionMatrixAndItsErrors) {
  ASSERT_NO_FATAL_FAILURE(openAndWait({wordsFile()}));
  ASSERT_NO_FATAL_FAILURE(clickLayer(0));
  EXPECT_EQ(workspace_.selection().layer, 0);
  ASSERT_NE(confusion().figure(), nullptr);
  const MatrixD& cells = std::get<HeatmapPanel>(confusion().figure()->panels[0].content).values;
  EXPECT_EQ(cells.rows(), 3);
  EXPECT_EQ(cells.sum(), kRows);
  // Row 0 is at the bottom: the true classes are listed from top to bottom.
  const double right = cells(2, 0) + cells(1, 1) + cells(0, 2);
  EXPECT_EQ(table().model()->rowCount(), kRows - static_cast<int>(right));
  EXPECT_GT(table().model()->rowCount(), 0);
  // The same value as in the curve.
  const auto& panel = std::get<CurvePanel>(curves().figure()->panels[0].content);
  EXPECT_NEAR(panel.curves[0].y[0], right / kRows, 1e-9);
  EXPECT_TRUE(labels().contains("misclassified")) << labels().toStdString();
}

TEST_F(ProbesViewTest, ACellOfTheConfusionMatrixListsItsTokens) {
  ASSERT_NO_FATAL_FAILURE(openAndWait({wordsFile()}));
  ASSERT_NO_FATAL_FAILURE(clickLayer(0));
  const MatrixD cells = std::get<HeatmapPanel>(confusion().figure()->panels[0].content).values;
  const QPoint place = confusion().toPixel(0, QPointF(0, 2)).toPoint();
  QTest::mouseMove(&confusion(), place);
  EXPECT_TRUE(status_.contains("is predicted as is")) << status_.toStdString();
  QTest::mouseClick(&confusion(), Qt::LeftButton, {}, place);
  EXPECT_EQ(table().model()->rowCount(), static_cast<int>(cells(2, 0)));
  QTest::mouseClick(&confusion(), Qt::LeftButton, {}, place);
  EXPECT_EQ(table().model()->rowCount(),
            kRows - static_cast<int>(cells(2, 0) + cells(1, 1) + cells(0, 2)));
}

TEST_F(ProbesViewTest, FractionsReplaceCountsAndUndoRestoresThem) {
  ASSERT_NO_FATAL_FAILURE(openAndWait({wordsFile()}));
  ASSERT_NO_FATAL_FAILURE(clickLayer(1));
  ASSERT_NO_FATAL_FAILURE(select("Confusion", "fractions of the true class"));
  const auto cells = [&] {
    return std::get<HeatmapPanel>(confusion().figure()->panels[0].content).values;
  };
  EXPECT_NEAR(cells().row(0).sum(), 1.0, 1e-12);
  undo_.undo();
  EXPECT_EQ(cells().sum(), kRows);
}

TEST_F(ProbesViewTest, RowsOfTheListAreSelectedInAllViews) {
  ASSERT_NO_FATAL_FAILURE(openAndWait({wordsFile()}));
  ASSERT_NO_FATAL_FAILURE(clickLayer(0));
  table().setCurrentIndex(table().model()->index(0, 0));
  const TokenSelection& tokens = workspace_.selection().tokens;
  ASSERT_EQ(tokens.places.size(), 1U);
  const std::vector<std::int64_t> rows =
      TokenRows(workspace_.documents().front().capture).find(tokens).rows;
  ASSERT_EQ(rows.size(), 1U);
  const auto row = static_cast<int>(rows.front());
  const QStringList classes = {" is", " are", " was"};
  EXPECT_TRUE(table().model()->index(0, 0).data().toString().contains(classes[row % 3].trimmed()));
}

TEST_F(ProbesViewTest, ATokenThatIsSelectedElsewhereIsSelectedInTheList) {
  ASSERT_NO_FATAL_FAILURE(openAndWait({wordsFile()}));
  ASSERT_NO_FATAL_FAILURE(clickLayer(0));
  table().setCurrentIndex(table().model()->index(1, 0));
  const Selection second = workspace_.selection();
  table().setCurrentIndex(table().model()->index(0, 0));
  workspace_.setSelection(second);
  EXPECT_EQ(table().currentIndex().row(), 1);
  Selection other = second;
  other.tokens.text = "another text";
  workspace_.setSelection(other);
  EXPECT_FALSE(table().currentIndex().isValid());
}

TEST_F(ProbesViewTest, AKindOfMistakeIsAStepOfUndo) {
  ASSERT_NO_FATAL_FAILURE(openAndWait({wordsFile()}));
  ASSERT_NO_FATAL_FAILURE(clickLayer(0));
  view_.findChild<QCheckBox*>()->click();
  const int all = table().model()->rowCount();
  QTest::mouseClick(&confusion(), Qt::LeftButton, {}, confusion().toPixel(0, {0, 2}).toPoint());
  ASSERT_LT(table().model()->rowCount(), all);
  undo_.undo();
  EXPECT_EQ(table().model()->rowCount(), all);
}

TEST_F(ProbesViewTest, KeysWalkTheConfusionMatrixAndListACell) {
  ASSERT_NO_FATAL_FAILURE(openAndWait({wordsFile()}));
  ASSERT_NO_FATAL_FAILURE(clickLayer(0));
  view_.findChild<QCheckBox*>()->click();
  const int all = table().model()->rowCount();
  QTest::keyClick(&confusion(), Qt::Key_Return);
  EXPECT_EQ(table().model()->rowCount(), all) << "no cell has been reached";
  QTest::keyClick(&confusion(), Qt::Key_Down);
  QTest::keyClick(&confusion(), Qt::Key_Down);
  QTest::keyClick(&confusion(), Qt::Key_Right);
  EXPECT_TRUE(status_.startsWith("are predicted as are")) << status_.toStdString();
  EXPECT_EQ(confusion().accessibleDescription(), status_);
  QTest::keyClick(&confusion(), Qt::Key_Return);
  EXPECT_LT(table().model()->rowCount(), all);
  for (int i = 0; i < 5; ++i) QTest::keyClick(&confusion(), Qt::Key_Right);
  EXPECT_TRUE(status_.startsWith("are predicted as was")) << status_.toStdString();
  undo_.undo();
  EXPECT_EQ(table().model()->rowCount(), all);
}

TEST_F(ProbesViewTest, WrongOnlyCanBeLifted) {
  ASSERT_NO_FATAL_FAILURE(openAndWait({wordsFile()}));
  ASSERT_NO_FATAL_FAILURE(clickLayer(1));
  QCheckBox* const wrong_only = view_.findChild<QCheckBox*>();
  wrong_only->click();
  EXPECT_EQ(table().model()->rowCount(), kRows);
  undo_.undo();
  EXPECT_TRUE(wrong_only->isChecked());
  EXPECT_LT(table().model()->rowCount(), kRows);
}

TEST_F(ProbesViewTest, ResultsAreDrawnWithTheirOwnOptions) {
  const QString results = resultsOfWords();
  ASSERT_NO_FATAL_FAILURE(openAndWait({results}));
  const auto& panel = std::get<CurvePanel>(curves().figure()->panels.at(0).content);
  ASSERT_EQ(panel.curves.size(), 1U);
  EXPECT_EQ(panel.curves[0].label, "LIMe");
  ASSERT_NO_FATAL_FAILURE(clickLayer(1));
  ASSERT_NE(confusion().figure(), nullptr) << labels().toStdString();
  const MatrixD& cells = std::get<HeatmapPanel>(confusion().figure()->panels[0].content).values;
  const Results stored = read_results(toPath(results));
  const QString expected = toQString(stored.rows.at(1).shown(col::kConfusion));
  QStringList rows;
  for (int r = 0; r < 3; ++r) {
    rows << QStringLiteral("%1 %2 %3")
                .arg(cells(2 - r, 0))
                .arg(cells(2 - r, 1))
                .arg(cells(2 - r, 2));
  }
  EXPECT_EQ(rows.join("; "), expected) << "three folds of random state 7";
  EXPECT_TRUE(view_.commandLines().at(0).startsWith("lime-figure "));
}

TEST_F(ProbesViewTest, SaysWhyWhatIsMeasuredCannotBeDrawn) {
  preferences_.layer_base = 2;
  open({wordsFile()});
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  EXPECT_EQ(curves().figure(), nullptr);
  EXPECT_EQ(curves().message(), "layer base: must be 0 or 1, got 2");
}

TEST_F(ProbesViewTest, SaysWhatOfDamagedResultsCannotBeDrawn) {
  const std::filesystem::path pairs = toPath(pairsFile());
  BlimpOptions options;
  options.captures.captures = {pairs};
  Results results = run_analysis(prepare_blimp(options, {}), {}).results;
  for (ResultRow& row : results.rows) lime::testing::set_cell(row, col::kMean, "high");
  write_results(folder_ / "damaged.json", results);
  open({toQString(folder_ / "damaged.json")});
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  EXPECT_EQ(curves().figure(), nullptr);
  const QString expected = QStringLiteral("figure: '%1': 'mean' must be a number, got \"high\"")
                               .arg(toQString(folder_ / "damaged.json"));
  EXPECT_EQ(curves().message(), expected);
  EXPECT_TRUE(labels().contains(expected)) << "in place of the tasks: " << labels().toStdString();
}

TEST_F(ProbesViewTest, ACaptureOfOpenResultsIsNotComputedAgain) {
  const QString results = resultsOfWords();
  ASSERT_NO_FATAL_FAILURE(openAndWait({results, toQString(folder_ / "words.h5")}));
  EXPECT_EQ(std::get<CurvePanel>(curves().figure()->panels.at(0).content).curves.size(), 1U);
}

TEST_F(ProbesViewTest, ResultsWhoseCaptureIsGoneSaySo) {
  const QString results = resultsOfWords();
  std::filesystem::remove_all(folder_ / "words.h5");
  std::filesystem::remove_all(folder_ / "words.shards");
  ASSERT_NO_FATAL_FAILURE(openAndWait({results}));
  ASSERT_NO_FATAL_FAILURE(clickLayer(0));
  EXPECT_EQ(confusion().figure(), nullptr);
  EXPECT_EQ(table().model()->rowCount(), 0);
}

TEST_F(ProbesViewTest, MinimalPairsHaveATableOfTasksAndLayers) {
  ASSERT_NO_FATAL_FAILURE(openAndWait({pairsFile()}));
  EXPECT_EQ(box("Probe").currentText(), "minimal pairs") << "what is open is shown";
  ASSERT_EQ(tasks().model()->rowCount(), 4) << "three tasks and their mean";
  ASSERT_EQ(tasks().model()->columnCount(), TasksModel::kFirstLayer + 2);
  EXPECT_EQ(tasks().model()->index(0, 0).data().toString(), "mean over tasks");
  const int last = TasksModel::kFirstLayer + 1;
  EXPECT_NEAR(accuracyAt(0, last),
              (accuracyAt(1, last) + accuracyAt(2, last) + accuracyAt(3, last)) / 3.0, 1e-12);
  for (const Qt::SortOrder order : {Qt::AscendingOrder, Qt::DescendingOrder}) {
    tasks().sortByColumn(last, order);
    EXPECT_EQ(tasks().model()->index(0, 0).data().toString(), "mean over tasks");
    const double sign = order == Qt::AscendingOrder ? 1.0 : -1.0;
    EXPECT_LE(sign * accuracyAt(1, last), sign * accuracyAt(2, last));
    EXPECT_LE(sign * accuracyAt(2, last), sign * accuracyAt(3, last));
  }
  undo_.undo();
  EXPECT_EQ(view_.state().at("sort"), TasksModel::kMean) << "quick steps are one";
  tasks().setFocus();
  ASSERT_TRUE(waitUntil([this] { return view_.figure()->name == "blimp-tasks"; }));
  const HeatmapPanel map = std::get<HeatmapPanel>(view_.figure()->panels.at(0).content);
  EXPECT_EQ(map.values(3, 1), accuracyAt(0, last)) << "as the table is sorted";
  EXPECT_EQ(map.values(0, 1), accuracyAt(3, last));
}

TEST_F(ProbesViewTest, ATaskIsLookedAtPairByPair) {
  ASSERT_NO_FATAL_FAILURE(openAndWait({pairsFile()}));
  const QPoint place =
      tasks().visualRect(tasks().model()->index(2, TasksModel::kFirstLayer)).center();
  QTest::mouseMove(tasks().viewport(), place);
  EXPECT_TRUE(status_.contains("layer 0: accuracy")) << status_.toStdString();
  QTest::mouseClick(tasks().viewport(), Qt::LeftButton, {}, place);
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  const std::string task = view_.state().at("task");
  EXPECT_FALSE(task.empty());
  // Not "misclassified pairs": accuracy counts sentences.
  EXPECT_TRUE(labels().contains(" pairs have a misclassified sentence")) << labels().toStdString();
  view_.findChild<QCheckBox*>()->click();
  EXPECT_GE(table().model()->rowCount(), 10);
  EXPECT_LE(table().model()->rowCount(), 12);
  EXPECT_EQ(table().model()->index(0, PredictionsModel::kFirst).data().toString(), toQString(task));
  EXPECT_EQ(table().model()->columnCount(), PredictionsModel::kColumns);
  EXPECT_TRUE(view_.commandLines().constLast().contains("--task"));
  EXPECT_TRUE(view_.commandLines().constLast().contains("--judgements"));
  table().setCurrentIndex(table().model()->index(0, 0));
  EXPECT_EQ(workspace_.selection().tokens.places.size(), 2U);
  undo_.undo();
  EXPECT_TRUE(workspace_.selection().tokens.empty());
  EXPECT_FALSE(table().currentIndex().isValid());
  undo_.undo();
  undo_.undo();
  EXPECT_EQ(view_.state().at("task"), "");
}

TEST_F(ProbesViewTest, HoveringSaysWhatLiesThere) {
  ASSERT_NO_FATAL_FAILURE(openAndWait({wordsFile()}));
  QTest::mouseMove(&curves(), place(1));
  EXPECT_TRUE(status_.contains("layer 1: accuracy")) << status_.toStdString();
}

TEST_F(ProbesViewTest, LayersAreWalkedByKeyboard) {
  ASSERT_NO_FATAL_FAILURE(openAndWait({wordsFile()}));
  view_.activateWindow();
  ASSERT_TRUE(QTest::qWaitForWindowActive(&view_));
  QTest::keyClick(&view_, Qt::Key_Right, Qt::AltModifier);
  EXPECT_EQ(workspace_.selection().layer, 0);
  QTest::keyClick(&view_, Qt::Key_Right, Qt::AltModifier);
  EXPECT_EQ(workspace_.selection().layer, 1);
  waitUntil([this] { return jobs_.isIdle(); });
}

TEST_F(ProbesViewTest, ACancelledJobSaysHowToGoOn) {
  view_.hide();
  open({wordsFile()});
  view_.show();
  EXPECT_FALSE(jobs_.isIdle());
  jobs_.cancelAll();
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  EXPECT_TRUE(labels().contains("Recompute")) << labels().toStdString();
  for (QAction* const action : view_.actions()) {
    if (action->text() == "Recompute") action->trigger();
  }
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  EXPECT_TRUE(view_.figure());
}

TEST_F(ProbesViewTest, APairCaptureWithARowPerTokenIsNamed) {
  lime::testing::PairCapture tokens = lime::testing::example_pairs();
  tokens.rows = RowKind::kTokens;
  lime::testing::write_pairs(folder_ / "tokens.h5", tokens);
  open({toQString(folder_ / "tokens.h5")});
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  EXPECT_TRUE(labels().contains("need one row per sentence")) << labels().toStdString();
}

TEST_F(ProbesViewTest, WhatIsShownIsExportedOrTheReasonIsGiven) {
  ASSERT_NO_FATAL_FAILURE(openAndWait({wordsFile()}));
  ASSERT_NO_FATAL_FAILURE(clickLayer(1));
  QTest::mouseClick(&confusion(), Qt::LeftButton, {}, QPoint(3, 3));
  EXPECT_EQ(view_.figure()->name, "confusion") << "the pane last worked with";
  ExportDialog dialog(*view_.figure(), view_.provenance());
  dialog.setPath(toQString(folder_ / "no/such/folder/confusion.pdf"));
  dialog.accept();
  EXPECT_TRUE(dialog.problem().contains("does not exist")) << dialog.problem().toStdString();
  dialog.setPath(toQString(folder_ / "confusion.pdf"));
  dialog.accept();
  EXPECT_TRUE(std::filesystem::exists(folder_ / "confusion.pdf"));
}

TEST_F(ProbesViewTest, StateComesBack) {
  ASSERT_NO_FATAL_FAILURE(openAndWait({wordsFile(), pairsFile()}));
  Json state = view_.state();
  state["probe"] = "blimp";
  state["site"] = "hidden";
  state["model"] = "pairs";
  state["wrong_only"] = false;
  state["shares"] = true;
  view_.setState(state);
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  EXPECT_EQ(view_.state(), state);
}

TEST_F(ProbesViewTest, AClosedCaptureLeavesTheFigure) {
  ASSERT_NO_FATAL_FAILURE(openAndWait({wordsFile("a.h5"), wordsFile("b.h5", 7)}));
  ASSERT_NO_FATAL_FAILURE(clickLayer(0));
  workspace_.closeAll();
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  EXPECT_FALSE(view_.figure());
  EXPECT_EQ(table().model()->rowCount(), 0);
}

TEST_F(ProbesViewTest, ItsModelIsAProperOne) {
  ASSERT_NO_FATAL_FAILURE(openAndWait({wordsFile()}));
  PredictionsModel model;
  PredictionsFilter filter;
  filter.setSourceModel(&model);
  const QAbstractItemModelTester tester(&model,
                                        QAbstractItemModelTester::FailureReportingMode::Fatal);
  const QAbstractItemModelTester filter_tester(
      &filter, QAbstractItemModelTester::FailureReportingMode::Fatal);
  ProbeDetailRequest request;
  request.source = probeSources(workspace_, ProbeQuestion::kSeparability).at(0);
  request.place.site = "values";
  request.threads = 1;
  const auto detail =
      std::make_shared<const ProbeDetail>(exploreProbe(request, {}, std::stop_token()));
  model.setDetail(detail);
  EXPECT_EQ(model.rowCount(), kRows);
  EXPECT_EQ(filter.rowCount(), kRows - detail->confusion.trace());
  filter.setMisclassifiedOnly(false);
  filter.sort(PredictionsModel::kThird, Qt::AscendingOrder);
  const auto probability = [&](int row) {
    return filter.index(row, PredictionsModel::kThird).data(PredictionsModel::kSort).toDouble();
  };
  EXPECT_LE(probability(0), probability(1));
  filter.setText("no sentence holds this");
  EXPECT_EQ(filter.rowCount(), 0);
  model.setDetail(nullptr);
}

}  // namespace
}  // namespace lime::explorer::testing
