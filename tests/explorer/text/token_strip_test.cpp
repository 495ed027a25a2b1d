// SPDX-License-Identifier: Apache-2.0
#include "explorer/text/token_strip.h"

#include <QLabel>
#include <QTableView>
#include <QTest>
#include <QUndoStack>
#include <cmath>

#include "analysis/write_capture.h"
#include "checkpoint/parse_model_config.h"
#include "explorer/explorer_fixture.h"
#include "explorer/text/text_view.h"
#include "explorer/text/token_text.h"
#include "explorer/widgets/figure_view.h"
#include "support/tiny_checkpoint.h"

namespace lime::explorer::testing {
namespace {

constexpr int kTokenRows = 16;

/// Two layers of a model with four experts: tokens t of layer l select the experts t + l and
/// t + l + 1, modulo 4, with weights 0.75 and 0.25.
void addExperts(lime::testing::SmallCapture& capture) {
  for (const int layer : {0, 1}) {
    MatrixF indices(kTokenRows, 2), weights(kTokenRows, 2);
    for (int row = 0; row < kTokenRows; ++row) {
      for (const int k : {0, 1}) indices(row, k) = static_cast<float>((row + layer + k) % 4);
      weights.row(row) << 0.75F, 0.25F;
    }
    capture.activations.push_back({"mlp.hook_expert_indices", layer, indices});
    capture.activations.push_back({"mlp.hook_expert_weights", layer, weights});
  }
}

/// The next token has probability e^-1 and rank 2 after layer 0, e^-0.5 and rank 1 after layer 1;
/// the last token of each sequence has none.
void addLens(lime::testing::SmallCapture& capture) {
  for (const int layer : {0, 1}) {
    MatrixF lens = MatrixF::Zero(kTokenRows, 5);
    lens.col(0).setConstant(layer == 0 ? 0.5F : 0.0F);
    lens.col(3).setConstant(layer == 0 ? 1.0F : 0.5F);
    lens.col(4).setConstant(layer == 0 ? 2.0F : 1.0F);
    for (const int last : {4, 12, 15}) lens.row(last).tail(2).setZero();
    capture.activations.push_back({"logit_lens", layer, lens});
  }
}

/// Two heads: one attends to the first token, one to the token itself.
void addPatterns(lime::testing::SmallCapture& capture) {
  constexpr int kKeys = 8;
  for (const int layer : {0, 1}) {
    MatrixF rows = MatrixF::Zero(kTokenRows, 2 * kKeys);
    int row = 0;
    for (const std::int64_t length : capture.lengths) {
      for (int q = 0; q < length; ++q, ++row) rows(row, 0) = rows(row, kKeys + q) = 1.0F;
    }
    capture.activations.push_back({"attn.hook_pattern", layer, rows});
  }
}

class TokenStripTest : public WorkspaceTest {
 protected:
  TokenStripTest() {
    view_.resize(1100, 760);
    view_.show();
    QObject::connect(&view_, &View::status, [this](const QString& text) { status_ = text; });
  }
  lime::testing::SmallCapture capture(const std::string& family) {
    lime::testing::SmallCapture capture = lime::testing::example_capture();
    ModelConfig config = lime::testing::tiny_config(family, 2);
    config.num_attention_heads = config.num_key_value_heads = 2;
    capture.config = model_config_to_json(config);
    return capture;
  }
  void openAndWait(const lime::testing::SmallCapture& capture) {
    lime::testing::write_capture(folder_ / "run.h5", capture);
    open({toQString(folder_ / "run.h5")});
    ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  }
  TokenText& text() { return *view_.findChild<TokenText*>(); }
  TokenStrip& strip() { return *view_.findChild<TokenStrip*>(); }
  FigureView& plot() { return childCalled<FigureView>(view_, "pinned token in all layers"); }
  QString missing() {
    return childCalled<QLabel>(view_, "what is not captured of the pinned token").text();
  }
  void click(int token) {
    QTest::mouseClick(text().viewport(), Qt::LeftButton, {},
                      text().visualRect(text().model()->index(token, 0)).center());
    ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle() && plot().figure() != nullptr; }));
  }
  /// Returns what the pointer over a place of a panel says.
  QString at(std::size_t panel, QPointF place) {
    QTest::mouseMove(&plot(), plot().toPixel(panel, place).toPoint());
    return status_;
  }
  const FigurePanel& panel(std::size_t number) { return plot().figure()->panels.at(number); }

  Preferences preferences_;
  QUndoStack undo_;
  TextView view_{ViewContext{workspace_, jobs_, undo_, preferences_}};
  QString status_;
};

TEST_F(TokenStripTest, AClickPinsATokenAndShowsItInAllLayers) {
  lime::testing::SmallCapture all = capture("llama");
  all.config["num_experts"] = 4;
  addLens(all);
  addPatterns(all);
  addExperts(all);
  ASSERT_NO_FATAL_FAILURE(openAndWait(all));
  ASSERT_NO_FATAL_FAILURE(click(3));
  EXPECT_TRUE(strip().isVisible());
  ASSERT_EQ(plot().figure()->panels.size(), 3U);
  EXPECT_EQ(panel(0).title, "logit lens");
  const Curve& lens = std::get<CurvePanel>(panel(0).content).curves.at(0);
  ASSERT_EQ(lens.y.size(), 2U);
  EXPECT_NEAR(lens.y[0], std::exp(-1.0), 1e-6);
  EXPECT_TRUE(at(0, QPointF(0.0, lens.y[0])).contains("probability 0.368, rank 2"))
      << status_.toStdString();
  EXPECT_EQ(panel(1).title, "attention");
  const MatrixD& attention = std::get<HeatmapPanel>(panel(1).content).values;
  ASSERT_EQ(attention.rows(), 4) << "the keys up to the token";
  ASSERT_EQ(attention.cols(), 2);
  EXPECT_NEAR(attention(0, 0), 0.5, 1e-6) << "the token itself, at the bottom";
  EXPECT_NEAR(attention(3, 1), 0.5, 1e-6) << "the first token";
  EXPECT_NEAR(attention(1, 0), 0.0, 1e-6);
  EXPECT_TRUE(at(1, QPointF(1.0, 3.0)).contains("layer 1: 50.0% of the attention"))
      << status_.toStdString();
  EXPECT_TRUE(status_.contains("mean over 2 heads"));
  EXPECT_EQ(panel(2).title, "experts");
  const MatrixD& experts = std::get<HeatmapPanel>(panel(2).content).values;
  ASSERT_EQ(experts.rows(), 4);
  EXPECT_NEAR(experts(3, 0), 0.75, 1e-6) << "token 3 of layer 0 selects expert 3 first";
  EXPECT_NEAR(experts(0, 1), 0.75, 1e-6);
  EXPECT_TRUE(std::isnan(experts(1, 0)));
  EXPECT_TRUE(at(2, QPointF(1.0, 0.0)).contains("expert 0 with weight 0.7500; 2 of 4 experts"))
      << status_.toStdString();
  EXPECT_EQ(missing(), "");
}

TEST_F(TokenStripTest, SaysWhichSitesAreMissingAndOfTheLastTokenWhyItHasNoLens) {
  lime::testing::SmallCapture some = capture("attn_res");
  addLens(some);
  ASSERT_NO_FATAL_FAILURE(openAndWait(some));
  ASSERT_NO_FATAL_FAILURE(click(1));
  EXPECT_EQ(plot().figure()->panels.size(), 1U);
  EXPECT_EQ(missing(),
            "Not captured: attention, sources. Capture the text with these boxes ticked (Ctrl+T), "
            "or with lime-capture --sites hidden,attn.hook_pattern,hook_depth_weights");
  QTest::keyClick(&text(), Qt::Key_End);
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle() && missing().contains("last token"); }));
  EXPECT_EQ(plot().figure(), nullptr);
}

TEST_F(TokenStripTest, ListsTheLensWordAndTheNearestTokensOfEveryLayer) {
  lime::testing::SmallCapture all = capture("llama");
  for (const int layer : {0, 1}) {
    MatrixF lens = MatrixF::Ones(kTokenRows, 7);
    lens.col(5).setConstant(static_cast<float>(layer));
    lens.col(6).setConstant(7.0F);
    all.activations.push_back({"logit_lens", layer, lens});
  }
  ASSERT_NO_FATAL_FAILURE(openAndWait(all));
  ASSERT_NO_FATAL_FAILURE(click(3));
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  auto& table = childCalled<QTableView>(view_, "pinned token, layer by layer");
  const CaptureReader reader(folder_ / "run.h5");
  const std::string site = view_.state()["site"].get<std::string>();
  ASSERT_EQ(table.model()->rowCount(), std::ssize(reader.layers(site)));
  const auto text = [&](int row, int column) {
    return table.model()->index(row, column).data().toString();
  };
  EXPECT_EQ(text(0, PinnedLayersModel::kLensWord), "'#7'");
  EXPECT_EQ(text(1, PinnedLayersModel::kLensWord), "'#1031'") << "1 * 1024 + 7";
  // The nearest row by brute force.
  const MatrixF rows = reader.read_all(site, 0).rowwise().normalized();
  Eigen::Index nearest = -1;
  for (Eigen::Index r = 0; r < rows.rows(); ++r) {
    const bool is_nearer = nearest < 0 || (rows.row(r) - rows.row(3)).norm() <
                                              (rows.row(nearest) - rows.row(3)).norm();
    if (r != 3 && is_nearer) nearest = r;
  }
  const auto at = static_cast<std::size_t>(nearest);
  EXPECT_TRUE(text(0, PinnedLayersModel::kNearest)
                  .section(u"'"_s, 1, 1)
                  .endsWith(u"#%1"_s.arg(reader.rows().token[at])))
      << text(0, PinnedLayersModel::kNearest).toStdString();
  EXPECT_TRUE(table.model()
                  ->index(0, PinnedLayersModel::kNearest)
                  .data(Qt::ToolTipRole)
                  .toString()
                  .contains(u"sequence %1, position %2"_s.arg(reader.rows().sequence[at])
                                .arg(reader.rows().position[at])));
  table.setCurrentIndex(table.model()->index(1, 0));
  EXPECT_EQ(workspace_.selection().layer, 1);
}

TEST_F(TokenStripTest, ShowsTheSourcesOfTheToken) {
  lime::testing::SmallCapture routed = capture("attn_res");
  MatrixF weights = MatrixF::Zero(kTokenRows, 4);  // inputs attn and mlp of layer 0
  weights.col(0).setOnes();
  weights.col(2).setConstant(0.75F);
  weights.col(3).setConstant(0.25F);
  routed.activations.push_back({"hook_depth_weights", 0, weights});
  routed.activations.push_back({"hook_depth_weights", 1, MatrixF::Ones(kTokenRows, 15)});
  ASSERT_NO_FATAL_FAILURE(openAndWait(routed));
  ASSERT_NO_FATAL_FAILURE(click(2));
  ASSERT_EQ(plot().figure()->panels.size(), 1U);
  EXPECT_EQ(panel(0).title, "sources");
  const MatrixD& shares = std::get<HeatmapPanel>(panel(0).content).values;
  const auto mlp = static_cast<double>(shares.rows()) - 2.0;
  EXPECT_TRUE(at(0, QPointF(0.0, mlp)).contains("the MLP of layer 0 reads the embedding: 0.7500"))
      << status_.toStdString();
}

TEST_F(TokenStripTest, EscapeUnpinsAndThePinIsAStepOfUndoAndPartOfTheSession) {
  lime::testing::SmallCapture some = capture("llama");
  addPatterns(some);
  ASSERT_NO_FATAL_FAILURE(openAndWait(some));
  ASSERT_NO_FATAL_FAILURE(click(3));
  const Json state = view_.state();
  EXPECT_EQ(state["pinned"], 3);
  view_.activateWindow();
  QTest::keyClick(&text(), Qt::Key_Escape);
  EXPECT_FALSE(strip().isVisible());
  EXPECT_EQ(view_.state()["pinned"], -1);
  EXPECT_EQ(undo_.undoText(), "Unpin the token");
  undo_.undo();
  EXPECT_TRUE(strip().isVisible());
  undo_.undo();
  EXPECT_FALSE(strip().isVisible()) << "before the click";
  view_.setState(state);
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle() && plot().figure() != nullptr; }));
  EXPECT_TRUE(strip().isVisible());
  EXPECT_EQ(view_.state(), state);
  // Another sequence has other tokens.
  Selection other = workspace_.selection();
  other.tokens = tokensAt(CaptureReader(folder_ / "run.h5"), std::vector{some.lengths.front()});
  workspace_.setSelection(other);
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  EXPECT_EQ(view_.state()["sequence"], 1);
  EXPECT_FALSE(strip().isVisible());
}

}  // namespace
}  // namespace lime::explorer::testing
