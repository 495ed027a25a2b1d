// SPDX-License-Identifier: Apache-2.0
#include "explorer/models/workspace.h"

#include <QAbstractItemModelTester>
#include <QSignalSpy>
#include <algorithm>
#include <filesystem>

#include "analysis/write_capture.h"
#include "explorer/explorer_fixture.h"
#include "explorer/models/document.h"
#include "explorer/models/figures.h"
#include "explorer/models/text.h"
#include "explorer/window/navigator_model.h"
#include "viz/colour.h"

namespace lime::explorer::testing {
namespace {

TEST_F(WorkspaceTest, OpensFilesOfAllKindsInTheOrderGiven) {
  QSignalSpy added(&workspace_, &Workspace::documentAdded);
  open({resultsFile(), checkpointFolder(), captureFile()});
  ASSERT_EQ(workspace_.documents().size(), 3U);
  EXPECT_EQ(added.count(), 3);
  EXPECT_EQ(workspace_.documents()[0].kind, DocumentKind::kResults);
  EXPECT_EQ(workspace_.documents()[1].kind, DocumentKind::kCheckpoint);
  EXPECT_EQ(workspace_.documents()[2].kind, DocumentKind::kCapture);
  EXPECT_EQ(workspace_.current(), workspace_.documents()[2].id);
  EXPECT_EQ(workspace_.recent().front(), toQString(workspace_.documents()[2].path));
}

TEST_F(WorkspaceTest, RefusesOneFileAndOpensTheOthers) {
  open({captureFile(), "/absent", resultsFile(), "/lost"});
  EXPECT_EQ(workspace_.documents().size(), 2U);
  ASSERT_EQ(refused_.size(), 1);
  // A line per file, in one notice.
  EXPECT_EQ(refused_.front().count('\n'), 1) << refused_.front().toStdString();
  EXPECT_TRUE(refused_.front().contains("/absent") && refused_.front().contains("/lost"));
}

TEST_F(WorkspaceTest, OpensNothingTwice) {
  const QString path = checkpointFolder();
  open({path});
  open({path, path + "/config.json"});
  EXPECT_EQ(workspace_.documents().size(), 1U);
}

TEST_F(WorkspaceTest, GivesEqualLabelsOneColourAndOthersTheirOwn) {
  open({checkpointFolder("run"), captureFile("run.h5"), resultsFile()});
  const auto& documents = workspace_.documents();
  EXPECT_EQ(documents[0].colour, documents[1].colour);
  EXPECT_EQ(workspace_.colourOf("run"), documents[0].colour) << "as in every view";
  workspace_.rename(documents[0].id, "better");
  EXPECT_EQ(workspace_.colourOf("better"), documents[0].colour);
  open({captureFile("other.h5")});
  EXPECT_NE(documents.back().colour, documents[0].colour);
  EXPECT_EQ(workspace_.colourOf("nobody"), -1);
}

TEST_F(WorkspaceTest, CapturesAndResultsOfOneModelHaveItsColour) {
  lime::testing::SmallCapture capture = lime::testing::example_capture();
  capture.checkpoint_sha256 = std::string(64, 'a');
  lime::testing::write_capture(folder_ / "run.h5", capture);
  lime::testing::write_capture(folder_ / "words.h5", capture);
  capture.checkpoint_sha256 = std::string(64, 'b');
  lime::testing::write_capture(folder_ / "other.h5", capture);
  Results results;
  results.metric = "entropy";
  results.inputs = {{"other.h5", std::string(64, '0'), "LIMe"}};
  write_results(folder_ / "lime.json", results);
  open({toQString(folder_ / "run.h5"), toQString(folder_ / "words.h5"),
        toQString(folder_ / "other.h5"), toQString(folder_ / "lime.json")});
  EXPECT_EQ(workspace_.colourOf("words"), workspace_.colourOf("run"));
  EXPECT_NE(workspace_.colourOf("other"), workspace_.colourOf("run"));
  EXPECT_EQ(workspace_.colourOf("LIMe"), workspace_.colourOf("other")) << "measured on it";
  std::array<FigurePanel, 1> panels;
  CurvePanel curves;
  for (const char* const label : {"run", "words", "LIMe"})
    curves.curves.emplace_back().label = label;
  panels[0].content = curves;
  colourModels(panels, workspace_);
  const auto& drawn = std::get<CurvePanel>(panels[0].content).curves;
  EXPECT_EQ(drawn[0].style.colour, drawn[1].style.colour);
  EXPECT_NE(drawn[0].style.pattern, drawn[1].style.pattern);
  EXPECT_EQ(drawn[2].style.pattern, LinePattern::kSolid);
}

TEST_F(WorkspaceTest, ResultsOpenedBeforeTheirCaptureHaveItsColour) {
  Results results;
  results.metric = "entropy";
  results.inputs = {{"run.h5", std::string(64, '0'), "LIMe"}};
  write_results(folder_ / "lime.json", results);
  open({toQString(folder_ / "lime.json"), captureFile("other.h5"), captureFile("run.h5")});
  EXPECT_EQ(workspace_.colourOf("run"), workspace_.colourOf("LIMe"));
  EXPECT_NE(workspace_.colourOf("other"), workspace_.colourOf("LIMe"));
}

TEST_F(WorkspaceTest, GivesAModelOneColourInWhateverOrderItsFilesAreOpened) {
  const QString checkpoint = checkpointFolder("model-a");
  const QString other = checkpointFolder("model-b");
  std::filesystem::create_directories(folder_ / "out");
  lime::testing::SmallCapture capture = lime::testing::example_capture();
  capture.command = "lime-capture --checkpoint model-a --text t.txt";  // in a folder above
  lime::testing::write_capture(folder_ / "out/words.h5", capture);
  Results results;
  results.metric = "entropy";
  results.inputs = {{"words.h5", std::string(64, '0'), "LIMe"}};
  write_results(folder_ / "out/entropy.json", results);
  std::vector<QString> files = {checkpoint, toQString(folder_ / "out/words.h5"),
                                toQString(folder_ / "out/entropy.json"), other};
  std::ranges::sort(files);
  do {
    Workspace opened{jobs_};
    opened.open({files.begin(), files.end()});
    ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
    const int colour = opened.documentAt(toPath(checkpoint))->colour;
    EXPECT_EQ(opened.documentAt(folder_ / "out/words.h5")->colour, colour);
    EXPECT_EQ(opened.colourOf("LIMe"), colour);
    EXPECT_EQ(opened.colourOf("words"), colour);
    EXPECT_NE(opened.documentAt(toPath(other))->colour, colour);
  } while (std::ranges::next_permutation(files).found);
}

TEST_F(WorkspaceTest, AnnouncesAColourThatAnotherFileChanges) {
  const QString checkpoint = checkpointFolder("model");
  lime::testing::SmallCapture capture = lime::testing::example_capture();
  capture.checkpoint_sha256 = std::string(64, 'a');
  lime::testing::write_capture(folder_ / "x.h5", capture);
  open({checkpoint, toQString(folder_ / "x.h5")});
  ASSERT_NE(workspace_.colourOf("x"), workspace_.colourOf("model")) << "nothing connects them yet";
  QSignalSpy changed(&workspace_, &Workspace::documentChanged);
  capture.command = "lime-capture --checkpoint " + checkpoint.toStdString();
  lime::testing::write_capture(folder_ / "y.h5", capture);
  open({toQString(folder_ / "y.h5")});
  EXPECT_EQ(workspace_.colourOf("x"), workspace_.colourOf("model"));
  EXPECT_EQ(workspace_.documents()[1].colour, workspace_.documents()[0].colour);
  EXPECT_EQ(changed.count(), 1);
}

TEST_F(WorkspaceTest, NeverGivesTwoCapturesOneName) {
  for (const char* const folder : {"a/x", "b/x", "c"}) {
    std::filesystem::create_directories(folder_ / folder);
  }
  open({captureFile("a/x/run.h5"), captureFile("b/x/run.h5"), captureFile("c/capture.h5"),
        checkpointFolder("a/hf"), checkpointFolder("b/final")});
  QStringList labels;
  for (const Document& document : workspace_.documents()) labels << document.label;
  EXPECT_EQ(labels, QStringList({"run", "x/run", "c", "a", "b"}));
  open({captureFile("a/run.h5")});
  EXPECT_EQ(workspace_.documents().back().label, "a/run");
  std::filesystem::create_directories(folder_ / "d/x");
  open({captureFile("d/x/run.h5")});
  EXPECT_EQ(workspace_.documents().back().label, "d/x/run");
}

TEST_F(WorkspaceTest, ColoursCurvesOfModelsAndNoOthers) {
  open({captureFile("a.h5"), captureFile("b.h5")});
  const auto colourOf = [this](const std::string& label) {
    Curve curve;
    curve.label = label;
    curve.style.colour = 99;
    Curve reference;
    reference.style.colour = kMutedColour;
    Figure figure;
    figure.panels.push_back({.title = {}, .x = {}, .y = {}, .content = CurvePanel{}});
    std::get<CurvePanel>(figure.panels[0].content).curves = {curve, reference};
    colourModels(figure.panels, workspace_);
    return std::get<CurvePanel>(figure.panels[0].content).curves[0].style.colour;
  };
  EXPECT_EQ(colourOf("b"), modelColour(workspace_.colourOf("b")));
  EXPECT_EQ(colourOf("b, shuffled labels"), colourOf("b"));
  EXPECT_EQ(colourOf("b (words)"), colourOf("b"));
  EXPECT_NE(colourOf("a"), colourOf("b"));
  EXPECT_EQ(colourOf("layer 3"), 99U) << "no model";
}

TEST(ModelColourTest, IsNeverYellow) {
  for (int model = 0; model < 20; ++model) {
    const Colour colour = class_colour(ClassPalette::kOkabeIto, modelColour(model), kModelColours);
    EXPECT_LT(luma(colour), 0.7);
  }
}

TEST_F(WorkspaceTest, SelectionReachesAllAndOnlyWhenItChanges) {
  QSignalSpy changed(&workspace_, &Workspace::selectionChanged);
  const Selection selection{.layer = 3, .head = 1};
  workspace_.setSelection(selection);
  workspace_.setSelection(selection);
  EXPECT_EQ(changed.count(), 1);
  EXPECT_EQ(workspace_.selection(), selection);
}

TEST_F(WorkspaceTest, WindowsOfAQuantityAreShared) {
  QSignalSpy changed(&workspace_, &Workspace::windowChanged);
  workspace_.setWindow("layer", AxisWindow{2.0, 5.0});
  EXPECT_EQ(workspace_.window("layer"), (AxisWindow{2.0, 5.0}));
  EXPECT_FALSE(workspace_.window("position"));
  workspace_.setWindow("layer", std::nullopt);
  EXPECT_EQ(changed.count(), 2);
}

TEST_F(WorkspaceTest, NoticesFilesThatAreDeletedOrRewrittenWhileOpen) {
  const QString results = resultsFile();
  const QString capture = captureFile();
  open({results, capture});
  std::filesystem::remove(toPath(capture));
  lime::testing::write_text(toPath(results), "{}");
  const auto stateOf = [this](std::size_t row) { return workspace_.documents()[row].state; };
  EXPECT_TRUE(waitUntil([&] { return stateOf(1) == DocumentState::kMissing; }));
  EXPECT_TRUE(waitUntil([&] { return stateOf(0) == DocumentState::kRewritten; }));
  // Loaded data stays visible, and a reload reports the current error.
  EXPECT_EQ(workspace_.documents()[0].label, "entropy");
  workspace_.reload(workspace_.documents()[0].id);
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  EXPECT_EQ(refused_.size(), 1);
}

TEST_F(WorkspaceTest, AFileThatReturnsIsNoLongerMissing) {
  const QString capture = captureFile();
  open({capture});
  const auto state = [this] { return workspace_.documents().front().state; };
  std::filesystem::rename(toPath(capture), folder_ / "elsewhere.h5");
  ASSERT_TRUE(waitUntil([&] { return state() == DocumentState::kMissing; }));
  std::filesystem::rename(folder_ / "elsewhere.h5", toPath(capture));
  EXPECT_TRUE(waitUntil([&] { return state() == DocumentState::kPresent; }));
}

TEST_F(WorkspaceTest, ReloadKeepsIdColourAndName) {
  const QString results = resultsFile();
  open({captureFile(), results});
  const int id = workspace_.documents()[1].id;
  workspace_.rename(id, "mine");
  const int colour = workspace_.find(id)->colour;
  workspace_.reload(id);
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  ASSERT_NE(workspace_.find(id), nullptr);
  EXPECT_EQ(workspace_.find(id)->label, "mine");
  EXPECT_EQ(workspace_.find(id)->colour, colour);
}

TEST_F(WorkspaceTest, NavigatorStaysAModelWhateverHappens) {
  NavigatorModel model(workspace_);
  QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  open({resultsFile(), checkpointFolder(), captureFile()});
  const QModelIndex captures = model.index(static_cast<int>(DocumentKind::kCapture), 0);
  ASSERT_EQ(model.rowCount(captures), 1);
  const QModelIndex capture = model.index(0, 0, captures);
  EXPECT_EQ(capture.data().toString(), "run");
  EXPECT_GT(model.rowCount(capture), 2);
  EXPECT_EQ(model.index(0, 0, capture).parent(), capture);
  EXPECT_TRUE(model.setData(capture, "LIMe", Qt::EditRole));
  EXPECT_EQ(capture.data().toString(), "LIMe");
  EXPECT_FALSE(model.setData(capture, "  ", Qt::EditRole));
  const int id = capture.data(NavigatorModel::IdRole).toInt();
  EXPECT_EQ(workspace_.documentsOf(DocumentKind::kCapture).size(), 1U);
  EXPECT_TRUE(model.setData(capture, Qt::Unchecked, Qt::CheckStateRole));
  EXPECT_TRUE(workspace_.documentsOf(DocumentKind::kCapture).empty());
  EXPECT_EQ(capture.data(Qt::CheckStateRole).toInt(), Qt::Unchecked);
  EXPECT_EQ(model.indexOfDocument(id), capture);
  workspace_.reload(id);
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  workspace_.close(id);
  EXPECT_EQ(model.rowCount(captures), 0);
  workspace_.closeAll();
  EXPECT_EQ(model.rowCount(model.index(0, 0)), 0);
}

}  // namespace
}  // namespace lime::explorer::testing
