// SPDX-License-Identifier: Apache-2.0
#include "explorer/text/text_view.h"

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QSlider>
#include <QTabBar>
#include <QTableView>
#include <QTest>
#include <QUndoStack>
#include <cmath>
#include <filesystem>
#include <set>
#include <stdexcept>

#include "analysis/write_capture.h"
#include "checkpoint/parse_model_config.h"
#include "explorer/explorer_fixture.h"
#include "explorer/models/selection.h"
#include "explorer/models/text.h"
#include "explorer/text/sequence_tokens.h"
#include "explorer/text/token_text.h"
#include "explorer/widgets/figure_view.h"
#include "explorer/window/export_dialog.h"
#include "store/capture_reader.h"
#include "support/tiny_checkpoint.h"

namespace lime::explorer::testing {
namespace {

constexpr int kHeads = 2;

/// Patterns of two heads: one attends to the first token, one to the token itself.
lime::testing::SmallCapture withPatterns(bool has_router) {
  lime::testing::SmallCapture capture = lime::testing::example_capture();
  const int keys = 8;
  for (const int layer : {0, 1}) {
    MatrixF rows = MatrixF::Zero(16, kHeads * keys);
    int row = 0;
    for (const std::int64_t length : capture.lengths) {
      for (int q = 0; q < length; ++q, ++row) {
        rows(row, 0) = 1.0F;
        rows(row, keys + q) = 1.0F;
      }
    }
    capture.activations.push_back({"attn.hook_pattern", layer, rows});
  }
  ModelConfig config = lime::testing::tiny_config(has_router ? "lime" : "llama");
  config.num_hidden_layers = 2;
  config.num_attention_heads = kHeads;
  config.num_key_value_heads = 2;
  config.head_dim = 2;
  capture.config = model_config_to_json(config);
  if (has_router) {
    MatrixF router(2, 4);
    router << 0.5F, 0.0F, 1.0F, 0.0F, 0.0F, 0.25F, 0.0F, 1.0F;
    capture.router[1] = router;
  }
  return capture;
}

class TextViewTest : public WorkspaceTest {
 protected:
  TextViewTest() {
    view_.resize(1100, 660);
    view_.show();
    QObject::connect(&view_, &View::status, [this](const QString& text) { status_ = text; });
  }

  FigureView& map() { return childCalled<FigureView>(view_, "tokens in all layers"); }
  FigureView& pattern() { return childCalled<FigureView>(view_, "attention pattern"); }
  FigureView& routed() { return childCalled<FigureView>(view_, "routed attention"); }
  TokenText& text() { return *view_.findChild<TokenText*>(); }
  QRect place(int token) { return text().visualRect(text().model()->index(token, 0)); }
  QTableView& list() { return childCalled<QTableView>(view_, "sequences"); }
  QSlider& slider() { return *view_.findChild<QSlider*>(); }
  QComboBox& box(const QString& name) { return childCalled<QComboBox>(view_, name); }
  void settle() {
    ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  }
  void openAndWait(const QStringList& paths) {
    open(paths);
    ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle() && map().figure() != nullptr; }));
  }
  QString patternsFile(bool has_router = true) {
    lime::testing::write_capture(folder_ / "patterns.h5", withPatterns(has_router));
    return toQString(folder_ / "patterns.h5");
  }
  void showAttention() {
    view_.findChild<QTabBar*>()->setCurrentIndex(1);
    ASSERT_NO_FATAL_FAILURE(settle());
  }
  void selectHead(int head) {
    box("Head").setCurrentIndex(box("Head").findData(head));
    Q_EMIT box("Head").activated(box("Head").currentIndex());
    ASSERT_NO_FATAL_FAILURE(settle());
  }
  const std::vector<TokenPlace>& selected() { return workspace_.selection().tokens.places; }
  /// Five tokens of the second and third sequence of example_capture().
  QString someTokensFile(const std::string& text) {
    lime::testing::SmallCapture some = lime::testing::example_capture();
    some.lengths = {0, 4, 1};
    some.positions = {1, 3, 5, 7, 2};
    for (auto& one : some.activations) one.rows = MatrixF(one.rows.topRows(5));
    some.class_names = {" is"};
    some.text_sha256 = text;
    lime::testing::write_capture(folder_ / "some.h5", some);
    return toQString(folder_ / "some.h5");
  }
  QString allTokensFile(const std::string& text) {
    lime::testing::SmallCapture all = lime::testing::example_capture();
    all.text_sha256 = text;
    lime::testing::write_capture(folder_ / "all.h5", all);
    return toQString(folder_ / "all.h5");
  }
  QString labels() {
    QString all;
    for (const QLabel* const label : view_.findChildren<QLabel*>()) all += label->text();
    return all;
  }

  Preferences preferences_;
  QUndoStack undo_;
  TextView view_{ViewContext{workspace_, jobs_, undo_, preferences_}};
  QString status_;
};

TEST_F(TextViewTest, SaysWhatToOpen) {
  EXPECT_FALSE(view_.figure());
  EXPECT_TRUE(view_.commandLines().isEmpty());
  EXPECT_FALSE(view_.grab().isNull());
}

TEST_F(TextViewTest, AReloadedCaptureIsMeasuredAgain) {
  const QString file = captureFile("a.h5");
  ASSERT_NO_FATAL_FAILURE(openAndWait({file}));
  const auto cell = [this] {
    return std::get<HeatmapPanel>(map().figure()->panels.front().content).values(0, 0);
  };
  const double before = cell();
  std::filesystem::remove_all(folder_ / "a.h5");
  std::filesystem::remove_all(folder_ / "a.shards");
  lime::testing::write_capture(folder_ / "a.h5", lime::testing::example_capture(3));
  workspace_.reload(workspace_.documents().front().id);
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle() && map().figure() != nullptr; }));
  EXPECT_NE(cell(), before);
}

TEST_F(TextViewTest, SaysWhyWhatIsMeasuredCannotBeDrawn) {
  preferences_.layer_base = 2;
  open({captureFile()});
  ASSERT_NO_FATAL_FAILURE(settle());
  EXPECT_EQ(map().figure(), nullptr);
  EXPECT_EQ(map().message(), "layer base: must be 0 or 1, got 2");
}

TEST_F(TextViewTest, ShowsLayersAndTokensOfTheFirstSequence) {
  ASSERT_NO_FATAL_FAILURE(openAndWait({captureFile()}));
  const auto& cells = std::get<HeatmapPanel>(map().figure()->panels.at(0).content).values;
  EXPECT_EQ(cells.rows(), 2);
  EXPECT_EQ(cells.cols(), 5);
  EXPECT_EQ(view_.state().at("site"), "hidden");
  EXPECT_FALSE(place(4).isNull());
  EXPECT_TRUE(place(5).isNull());
  EXPECT_EQ(list().model()->rowCount(), 3);
  const QStringList lines = view_.commandLines();
  ASSERT_EQ(lines.size(), 2);
  EXPECT_TRUE(lines[0].contains("lime-metrics tokens")) << lines[0].toStdString();
  EXPECT_TRUE(lines[0].contains("--sequence 0")) << lines[0].toStdString();
  EXPECT_TRUE(lines[1].contains("--measure entropy_contribution")) << lines[1].toStdString();
}

TEST_F(TextViewTest, CapturesOfOneTextStandSideBySide) {
  lime::testing::write_capture(folder_ / "b.h5", lime::testing::example_capture(7));
  ASSERT_NO_FATAL_FAILURE(openAndWait({captureFile(), toQString(folder_ / "b.h5")}));
  EXPECT_EQ(map().figure()->panels.size(), 2U);
  workspace_.close(workspace_.documents().back().id);
  ASSERT_NO_FATAL_FAILURE(settle());
  EXPECT_EQ(map().figure()->panels.size(), 1U);
}

TEST_F(TextViewTest, SequencesAreSelectedAndFound) {
  ASSERT_NO_FATAL_FAILURE(openAndWait({captureFile()}));
  list().setCurrentIndex(list().model()->index(1, 0));
  ASSERT_NO_FATAL_FAILURE(settle());
  EXPECT_EQ(std::get<HeatmapPanel>(map().figure()->panels.at(0).content).values.cols(), 8);
  EXPECT_TRUE(view_.commandLines().at(0).contains("--sequence 1"));
  undo_.undo();
  ASSERT_NO_FATAL_FAILURE(settle());
  EXPECT_EQ(std::get<HeatmapPanel>(map().figure()->panels.at(0).content).values.cols(), 5);
  view_.findChild<QLineEdit*>()->setText("no sequence holds this");
  EXPECT_EQ(list().model()->rowCount(), 0);
}

TEST_F(TextViewTest, HoveringATokenSaysAllItsNumbers) {
  ASSERT_NO_FATAL_FAILURE(openAndWait({captureFile()}));
  QTest::mouseMove(text().viewport(), place(2).center());
  EXPECT_TRUE(status_.contains("layer 1")) << status_.toStdString();
  for (const char* const word : {"norm", "cosine", "entropy contribution"}) {
    EXPECT_TRUE(status_.contains(word)) << word << ": " << status_.toStdString();
  }
}

TEST_F(TextViewTest, TheLayerIsThatOfAllViews) {
  ASSERT_NO_FATAL_FAILURE(openAndWait({captureFile()}));
  slider().setValue(0);
  EXPECT_EQ(workspace_.selection().layer, 0);
  Selection selection = workspace_.selection();
  selection.layer = 1;
  workspace_.setSelection(selection);
  EXPECT_EQ(slider().value(), 1);
  view_.activateWindow();
  ASSERT_TRUE(QTest::qWaitForWindowActive(&view_));
  QTest::keyClick(&view_, Qt::Key_Left, Qt::AltModifier);
  EXPECT_EQ(workspace_.selection().layer, 0);
}

TEST_F(TextViewTest, ATokenIsSelectedByMouseOrKeyboardInAllViews) {
  ASSERT_NO_FATAL_FAILURE(openAndWait({captureFile()}));
  QTest::mouseClick(text().viewport(), Qt::LeftButton, {}, place(3).center());
  ASSERT_EQ(selected(), (std::vector<TokenPlace>{{0, 3}}));
  QTest::keyClick(&text(), Qt::Key_Left);
  ASSERT_EQ(selected(), (std::vector<TokenPlace>{{0, 2}}));
  EXPECT_EQ(text().current(), 2);
  // A token of another sequence shows that sequence.
  Selection selection = workspace_.selection();
  selection.tokens.places = {{2, 1}};
  workspace_.setSelection(selection);
  ASSERT_NO_FATAL_FAILURE(settle());
  EXPECT_EQ(view_.state().at("sequence"), 2);
  EXPECT_EQ(text().current(), 1);
}

TEST_F(TextViewTest, ATokenOfACaptureOfSomeTokensIsFoundWhereItStands) {
  ASSERT_NO_FATAL_FAILURE(openAndWait({allTokensFile("text")}));
  const CaptureReader some(toPath(someTokensFile("text")));
  Selection selection = workspace_.selection();
  selection.tokens = tokensAt(some, std::vector<std::int64_t>{4});
  workspace_.setSelection(selection);
  ASSERT_NO_FATAL_FAILURE(settle());
  EXPECT_EQ(view_.state().at("sequence"), 2) << "row 4 of all tokens is in sequence 0";
  EXPECT_EQ(text().current(), 2);
  EXPECT_FALSE(labels().contains("another text"));
  // If several are selected, the one in the sequence.
  selection.tokens = tokensAt(some, std::vector<std::int64_t>{0, 4});
  workspace_.setSelection(selection);
  ASSERT_NO_FATAL_FAILURE(settle());
  EXPECT_EQ(view_.state().at("sequence"), 1);
  EXPECT_EQ(text().current(), 1);
}

TEST_F(TextViewTest, TokensOfAnotherTextChangeNothingAndItSaysSo) {
  ASSERT_NO_FATAL_FAILURE(openAndWait({allTokensFile("text")}));
  const CaptureReader other(toPath(someTokensFile("another")));
  Selection selection = workspace_.selection();
  selection.tokens = tokensAt(other, std::vector<std::int64_t>{4});
  workspace_.setSelection(selection);
  ASSERT_NO_FATAL_FAILURE(settle());
  EXPECT_EQ(view_.state().at("sequence"), 0);
  EXPECT_EQ(text().current(), -1);
  EXPECT_TRUE(labels().contains("from a different text than all")) << labels().toStdString();
  selection.tokens = {.text = "text", .places = {{1, 30}}};
  workspace_.setSelection(selection);
  EXPECT_TRUE(labels().contains("contains no rows of the selected tokens"))
      << labels().toStdString();
  selection.tokens = {};
  workspace_.setSelection(selection);
  EXPECT_FALSE(labels().contains("selected"));
}

TEST_F(TextViewTest, UndoGivesBackTokenAndLayer) {
  ASSERT_NO_FATAL_FAILURE(openAndWait({captureFile()}));
  QTest::mouseClick(&map(), Qt::LeftButton, {}, map().toPixel(0, QPointF(4, 0)).toPoint());
  ASSERT_EQ(undo_.count(), 1);
  for (int i = 0; i < 3; ++i) QTest::keyClick(&text(), Qt::Key_Left);
  EXPECT_EQ(selected(), (std::vector<TokenPlace>{{0, 1}}));
  EXPECT_EQ(undo_.count(), 2) << "a walk is one step";
  undo_.undo();
  EXPECT_EQ(selected(), (std::vector<TokenPlace>{{0, 4}}));
  EXPECT_EQ(text().current(), 4);
  undo_.undo();
  EXPECT_TRUE(selected().empty());
  EXPECT_FALSE(workspace_.selection().layer);
  undo_.redo();
  EXPECT_EQ(workspace_.selection().layer, 0);
}

TEST_F(TextViewTest, ACellOfTheMapIsALayerAndAToken) {
  ASSERT_NO_FATAL_FAILURE(openAndWait({captureFile()}));
  const QPoint place = map().toPixel(0, QPointF(4, 0)).toPoint();
  QTest::mouseMove(&map(), place);
  EXPECT_TRUE(status_.contains("layer 0: entropy contribution")) << status_.toStdString();
  QTest::mouseClick(&map(), Qt::LeftButton, {}, place);
  EXPECT_EQ(workspace_.selection().layer, 0);
  EXPECT_EQ(selected(), (std::vector<TokenPlace>{{0, 4}}));
}

TEST_F(TextViewTest, ACaptureWithoutPatternsSaysHowToCaptureThem) {
  ASSERT_NO_FATAL_FAILURE(openAndWait({captureFile()}));
  ASSERT_NO_FATAL_FAILURE(showAttention());
  EXPECT_EQ(pattern().figure(), nullptr);
  EXPECT_FALSE(view_.figure());
  EXPECT_FALSE(view_.grab().isNull());
}

TEST_F(TextViewTest, AttentionIsFollowedThroughTheRouters) {
  ASSERT_NO_FATAL_FAILURE(openAndWait({patternsFile()}));
  ASSERT_NO_FATAL_FAILURE(showAttention());
  ASSERT_NE(pattern().figure(), nullptr) << labels().toStdString();
  const MatrixD cells = std::get<HeatmapPanel>(pattern().figure()->panels[0].content).values;
  EXPECT_EQ(cells.rows(), 5);
  EXPECT_EQ(cells(0, 0), 1.0) << "the last query, at the bottom, looks at the first token";
  EXPECT_TRUE(std::isnan(cells(4, 1))) << "what comes is not seen";
  ASSERT_NE(routed().figure(), nullptr);
  const MatrixD shares = std::get<HeatmapPanel>(routed().figure()->panels[0].content).values;
  EXPECT_EQ(shares.rows(), 2);
  EXPECT_NEAR(shares.sum(), 1.0, 1e-9);
  EXPECT_NEAR(shares.col(0).sum(), 1.0, 1e-9) << "all of it is of the first token";
  EXPECT_GT(shares(0, 0), 0.0) << "some of it from the buffer of layer 0";
  QTest::mouseMove(&pattern(), pattern().toPixel(0, QPointF(0, 0)).toPoint());
  EXPECT_TRUE(status_.contains("attends to")) << status_.toStdString();
  selectHead(1);
  const MatrixD other = std::get<HeatmapPanel>(routed().figure()->panels[0].content).values;
  EXPECT_NEAR(other.col(4).sum(), 1.0, 1e-9) << "the second head looks at the token itself";
  undo_.undo();
  EXPECT_EQ(view_.state().at("head"), 0);
}

TEST_F(TextViewTest, AllHeadsAreSmallMultiplesThatAClickEnlarges) {
  ASSERT_NO_FATAL_FAILURE(openAndWait({patternsFile()}));
  ASSERT_NO_FATAL_FAILURE(showAttention());
  selectHead(-1);
  ASSERT_EQ(pattern().figure()->panels.size(), 2U);
  EXPECT_EQ(pattern().figure()->panels[1].title, "head 1");
  EXPECT_FALSE(routed().isVisible());
  EXPECT_FALSE(view_.commandLines().front().contains("--head"));
  EXPECT_EQ(view_.commandLines().size(), 2);
  view_.grab();  // lays out: the pane beside the pattern is hidden
  QTest::mouseMove(&pattern(), pattern().toPixel(0, QPointF(0, 0)).toPoint());
  EXPECT_TRUE(status_.startsWith("Head 0: entropy")) << status_.toStdString();
  QTest::mouseClick(&pattern(), Qt::LeftButton, {}, pattern().toPixel(1, QPointF(0, 0)).toPoint());
  ASSERT_NO_FATAL_FAILURE(settle());
  EXPECT_EQ(view_.state().at("head"), 1);
  EXPECT_EQ(pattern().figure()->panels.size(), 1U);
  EXPECT_NE(routed().figure(), nullptr);
}

TEST_F(TextViewTest, APlainTransformerHasNoRoutedAttention) {
  ASSERT_NO_FATAL_FAILURE(openAndWait({patternsFile(false)}));
  ASSERT_NO_FATAL_FAILURE(showAttention());
  EXPECT_NE(pattern().figure(), nullptr);
  EXPECT_EQ(routed().figure(), nullptr);
}

TEST_F(TextViewTest, WithoutALogitLensItsColoursSayHowToCaptureOne) {
  ASSERT_NO_FATAL_FAILURE(openAndWait({captureFile()}));
  for (const char* const measure : {"lens_probability", "lens_rank", "lens_kl"}) {
    box("Colour").setCurrentIndex(box("Colour").findData(measure));
    Q_EMIT box("Colour").activated(box("Colour").currentIndex());
    ASSERT_NO_FATAL_FAILURE(settle());
    EXPECT_EQ(map().figure(), nullptr);
    EXPECT_TRUE(map().message().contains("Capture the text again with the logit lens"))
        << map().message().toStdString();
  }
}

TEST_F(TextViewTest, OneMassiveTokenLeavesTheOthersTheirColours) {
  lime::testing::SmallCapture capture = lime::testing::example_capture();
  capture.lengths = {40};
  MatrixF rows = lime::testing::random_matrix(40, 6, 3);
  rows.row(0) *= 1000.0F;
  capture.activations = {{"hidden", 0, rows}};
  lime::testing::write_capture(folder_ / "massive.h5", capture);
  ASSERT_NO_FATAL_FAILURE(openAndWait({toQString(folder_ / "massive.h5")}));
  box("Colour").setCurrentIndex(box("Colour").findData("norm"));
  Q_EMIT box("Colour").activated(box("Colour").currentIndex());
  ASSERT_NO_FATAL_FAILURE(settle());
  const std::vector<TextToken>& tokens = text().tokens();
  ASSERT_EQ(tokens.size(), 40U);
  EXPECT_TRUE(tokens[0].is_clipped);
  EXPECT_LE(std::ranges::count(tokens, true, &TextToken::is_clipped), 2);
  std::set<QRgb> colours;
  for (const TextToken& token : tokens) colours.insert(token.ground.rgb());
  EXPECT_GT(colours.size(), 30U) << "one colour for all but the massive token";
  EXPECT_TRUE(map().figure()->note.find("marked at a corner") != std::string::npos);
}

TEST_F(TextViewTest, TheShownLayerIsMeasuredFirst) {
  const auto capture = std::make_shared<const CaptureReader>(toPath(captureFile()));
  const SequenceRequest request{capture, "run", "hidden", 1, 0, {}, 0};
  const JobContext context{[](const Progress&) {}, {}, {}};
  std::vector<SequenceTokens> parts;
  const SequenceTokens all = measureSequence(
      request, context, [&](SequenceTokens part) { parts.push_back(std::move(part)); });
  ASSERT_EQ(parts.size(), 2U);
  const auto numKnown = [](const SequenceTokens& tokens, int layer) {
    const auto values = valuesOfLayer(tokens, "entropy_contribution", layer);
    return std::ranges::count_if(values, [](const auto& value) { return value.has_value(); });
  };
  EXPECT_EQ(valuesOfLayer(parts[0], "norm", 1), valuesOfLayer(all, "norm", 1));
  EXPECT_EQ(numKnown(parts[0], 0), 0);
  EXPECT_EQ(numKnown(parts[1], 0), 8) << "the layer on display";
  EXPECT_EQ(numKnown(parts[1], 1), 0);
  EXPECT_EQ(numKnown(all, 1), 8);
}

TEST_F(TextViewTest, ACancelledJobSaysHowToGoOn) {
  view_.hide();
  open({captureFile()});
  view_.show();
  EXPECT_FALSE(jobs_.isIdle());
  jobs_.cancelAll();
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  EXPECT_TRUE(labels().contains("Recompute")) << labels().toStdString();
  for (QAction* const action : view_.actions()) {
    if (action->text() == "Recompute") action->trigger();
  }
  ASSERT_NO_FATAL_FAILURE(settle());
  EXPECT_TRUE(view_.figure());
}

TEST_F(TextViewTest, ACaptureOfSomeTokensIsNotOffered) {
  lime::testing::SmallCapture some = lime::testing::example_capture();
  some.class_names = {" is"};
  lime::testing::write_capture(folder_ / "words.h5", some);
  open({toQString(folder_ / "words.h5")});
  EXPECT_EQ(box("Capture").count(), 0);
  EXPECT_FALSE(view_.figure());
}

TEST_F(TextViewTest, WhatIsShownIsExportedOrTheReasonIsGiven) {
  ASSERT_NO_FATAL_FAILURE(openAndWait({captureFile()}));
  ExportDialog dialog(*view_.figure(), view_.provenance());
  dialog.setPath(toQString(folder_ / "no/such/folder/tokens.pdf"));
  dialog.accept();
  EXPECT_TRUE(dialog.problem().contains("does not exist")) << dialog.problem().toStdString();
  dialog.setPath(toQString(folder_ / "tokens.csv"));
  dialog.accept();
  EXPECT_TRUE(std::filesystem::exists(folder_ / "tokens.csv")) << dialog.problem().toStdString();
}

TEST_F(TextViewTest, StateComesBack) {
  ASSERT_NO_FATAL_FAILURE(openAndWait({patternsFile()}));
  Json state = view_.state();
  state["site"] = "values";
  state["measure"] = "next_cosine";
  state["sequence"] = 1;
  state["attention"] = true;
  state["head"] = 1;
  view_.setState(state);
  ASSERT_NO_FATAL_FAILURE(settle());
  EXPECT_EQ(view_.state(), state);
}

TEST_F(TextViewTest, UndoReturnsToTheCaptureOfTheSequence) {
  const QString first = captureFile("a.h5");
  const QString second = captureFile("b.h5");
  ASSERT_NO_FATAL_FAILURE(openAndWait({first, second}));
  const auto show = [&](const QString& path) {
    workspace_.setCurrent(workspace_.documentAt(toPath(path))->id);
    ASSERT_NO_FATAL_FAILURE(settle());
  };
  show(first);
  list().selectRow(2);
  ASSERT_NO_FATAL_FAILURE(settle());
  ASSERT_EQ(view_.state().at("sequence"), 2);
  show(second);
  undo_.undo();
  EXPECT_EQ(view_.state().at("capture"), first.toStdString());
  EXPECT_EQ(view_.state().at("sequence"), 0);
}

TEST_F(TextViewTest, AClosedCaptureLeavesNothing) {
  ASSERT_NO_FATAL_FAILURE(openAndWait({patternsFile()}));
  ASSERT_NO_FATAL_FAILURE(showAttention());
  workspace_.closeAll();
  ASSERT_NO_FATAL_FAILURE(settle());
  EXPECT_FALSE(view_.figure());
  EXPECT_EQ(list().model()->rowCount(), 0);
}

}  // namespace
}  // namespace lime::explorer::testing
