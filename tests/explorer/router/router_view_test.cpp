// SPDX-License-Identifier: Apache-2.0
#include "explorer/router/router_view.h"

#include <QComboBox>
#include <QLabel>
#include <QSignalSpy>
#include <QSlider>
#include <QTabBar>
#include <QTest>
#include <QToolButton>
#include <QToolTip>
#include <QUndoStack>
#include <cmath>
#include <filesystem>

#include "analysis/router/routers.h"
#include "analysis/write_capture.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/parse_model_config.h"
#include "core/json.h"
#include "explorer/explorer_fixture.h"
#include "explorer/models/text.h"
#include "explorer/models/token_rows.h"
#include "explorer/router/router_controls.h"
#include "explorer/router/router_panes.h"
#include "explorer/widgets/figure_pane.h"
#include "explorer/widgets/figure_view.h"
#include "explorer/window/export_dialog.h"
#include "metrics/router/router_maps.h"
#include "store/capture_reader.h"
#include "support/tiny_checkpoint.h"

namespace lime::explorer::testing {
namespace {

/// The router view of a temporary workspace with three layers of two heads.
class RouterViewTest : public WorkspaceTest {
 protected:
  RouterViewTest() {
    view_.resize(1040, 640);
    view_.show();
    view_.setState({{"detail", static_cast<int>(RouterDetail::kWeights)}});
    QObject::connect(&view_, &View::status, [this](const QString& text) { status_ = text; });
  }

  /// 0: mean heatmap, 1: heatmap of the heads, 2: weights or flow, 3: reads of the embeddings.
  FigureView& plot(int pane) {
    const QStringList names = {"mean map of layers", "map of the heads of a layer",
                               "weights of heads, or flow into a head",
                               "fraction of each layer's weight on the embeddings"};
    return view_.findChild<FigurePane*>(names[pane])->plot();
  }
  /// Returns the centre of a cell: rows count from the bottom.
  QPoint cell(int pane, int row, int col) {
    return plot(pane).toPixel(0, QPointF(col, row)).toPoint();
  }
  void click(int pane, int row, int col) {
    QTest::mouseClick(&plot(pane), Qt::LeftButton, {}, cell(pane, row, col));
  }
  const Selection& selection() const { return workspace_.selection(); }

  Preferences preferences_;
  QUndoStack undo_;
  RouterView view_{ViewContext{workspace_, jobs_, undo_, preferences_}};
  QString status_;
};

TEST_F(RouterViewTest, TheFlowIsTheLargePictureWithTheMapAsItsLegend) {
  RouterView fresh{ViewContext{workspace_, jobs_, undo_, preferences_}};
  fresh.resize(1100, 700);
  fresh.show();
  open({checkpointFolder()});
  const auto& flow = fresh.findChild<FigurePane*>("weights of heads, or flow into a head")->plot();
  const auto& map = fresh.findChild<FigurePane*>("mean map of layers")->plot();
  ASSERT_NE(flow.figure(), nullptr);
  EXPECT_EQ(flow.figure()->name, "router-flow");
  EXPECT_GT(flow.width(), map.width() * 3 / 2);
  EXPECT_GT(flow.height(), map.height() * 3 / 2);
}

TEST_F(RouterViewTest, SaysWhatToDoWithoutACheckpoint) {
  EXPECT_FALSE(view_.figure());
  EXPECT_TRUE(view_.commandLines().isEmpty());
  QTest::keyClick(&view_, Qt::Key_Down);
  EXPECT_FALSE(view_.grab().isNull());
}

TEST_F(RouterViewTest, ShowsMapsOfACheckpoint) {
  open({checkpointFolder()});
  ASSERT_TRUE(view_.figure());
  EXPECT_EQ(view_.figure()->name, "router-mean");
  ASSERT_NE(plot(1).figure(), nullptr);
  EXPECT_EQ(plot(1).figure()->name, "router-heads");
  EXPECT_EQ(plot(2).figure()->name, "router-weights");
}

TEST_F(RouterViewTest, ClickingALayerThenACellThenAWeightSelectsThem) {
  open({checkpointFolder()});
  click(0, 1, 0);  // of layers 2 (at the bottom) and 1
  EXPECT_EQ(selection().layer, 1);
  EXPECT_EQ(selection().source_layer, 0);
  EXPECT_EQ(std::get<HeatmapPanel>(plot(1).figure()->panels[0].content).values.cols(), 2);
  click(1, 0, 1);  // heads 1 (at the bottom) and 0
  EXPECT_EQ(selection().head, 1);
  EXPECT_EQ(selection().source_layer, 1);
  click(2, 1, 0);
  EXPECT_EQ(selection().head, 0);
  EXPECT_EQ(selection().source_head, 0);
  undo_.undo();
  EXPECT_EQ(selection().head, 1);
  EXPECT_FALSE(selection().source_head);
  undo_.undo();
  undo_.undo();
  EXPECT_FALSE(selection().layer);
}

TEST_F(RouterViewTest, AClickDrawsOnlyWhatDependsOnIt) {
  open({checkpointFolder()});
  const auto values = [this](int at) {
    return std::get<HeatmapPanel>(plot(at).figure()->panels[0].content).values.data();
  };
  click(0, 0, 1);
  const auto layers = values(0);
  const auto heads = values(1);
  const auto weights = values(2);
  const int steps = undo_.count();
  click(1, 0, 1);  // a head: the weights are of the same two layers
  EXPECT_EQ(selection().head, 1);
  EXPECT_EQ(values(0), layers);
  EXPECT_EQ(values(1), heads);
  EXPECT_EQ(values(2), weights);
  click(1, 0, 0);  // a source layer
  EXPECT_EQ(values(1), heads);
  EXPECT_NE(values(2), weights);
  click(0, 1, 0);  // a layer
  EXPECT_EQ(values(0), layers);
  EXPECT_NE(values(1), heads);
  EXPECT_EQ(undo_.count(), steps + 2) << "equal steps within a second are one";
  EXPECT_EQ(view_.state()["layer"], 1) << "a session has the selection";
  view_.findChild<QSlider*>()->setValue(30);
  undo_.undo();
  EXPECT_EQ(selection().layer, 1) << "the look alone is taken back";
}

TEST_F(RouterViewTest, HoverSaysWhatIsUnderThePointer) {
  open({checkpointFolder()});
  QTest::mouseMove(&plot(0), cell(0, 0, 1));
  EXPECT_TRUE(status_.startsWith("layer 2 reads layer 1: fraction")) << status_.toStdString();
  EXPECT_TRUE(QToolTip::text().startsWith("layer 2 reads layer 1\nfraction"))
      << QToolTip::text().toStdString();
  QTest::mouseMove(&plot(2), cell(2, 0, 0));
  EXPECT_TRUE(status_.startsWith("layer 2, head 1 reads layer")) << status_.toStdString();
  EXPECT_TRUE(status_.contains("of 6 sources")) << status_.toStdString();
}

TEST_F(RouterViewTest, ArrowsWalkLayersHeadsAndSources) {
  open({checkpointFolder()});
  QTest::keyClick(&plot(0), Qt::Key_Up);
  EXPECT_EQ(selection().layer, 1);
  QTest::keyClick(&plot(0), Qt::Key_Right);
  EXPECT_EQ(selection().head, 1);
  QTest::keyClick(&plot(0), Qt::Key_Right);
  EXPECT_EQ(selection().head, 1) << "there are two heads";
  const int source = *selection().source_layer;
  QTest::keyClick(&plot(0), source > 0 ? Qt::Key_Left : Qt::Key_Right, Qt::ShiftModifier);
  EXPECT_NE(selection().source_layer, source);
}

TEST_F(RouterViewTest, UndoTakesBackChangesOfTheLook) {
  open({checkpointFolder()});
  auto* const threshold = view_.findChild<QSlider*>();
  threshold->setValue(30);
  threshold->setValue(60);
  EXPECT_EQ(undo_.count(), 1) << "one movement is one step";
  const Json moved = view_.state();
  EXPECT_NEAR(moved["threshold"].get<double>(), 0.6, 1e-9);
  undo_.undo();
  EXPECT_EQ(view_.state()["threshold"].get<double>(), 0.0);
  EXPECT_EQ(threshold->value(), 0);
  undo_.redo();
  EXPECT_EQ(view_.state(), moved);
}

TEST_F(RouterViewTest, UndoTakesBackTheCheckpointAndWhatItIsComparedWith) {
  open({checkpointFolder("one"), checkpointFolder("two")});
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  const QList<QComboBox*> boxes = view_.findChildren<QComboBox*>();
  const auto select = [&](int box, const QString& text) {
    boxes[box]->setCurrentIndex(boxes[box]->findText(text));
    Q_EMIT boxes[box]->activated(boxes[box]->currentIndex());
  };
  ASSERT_EQ(boxes[0]->currentText(), "two");
  select(0, "one");
  select(1, "two");
  ASSERT_EQ(undo_.count(), 2);
  EXPECT_EQ(plot(0).figure()->panels.size(), 1U);
  undo_.undo();
  EXPECT_EQ(boxes[1]->currentText(), "nothing");
  undo_.undo();
  EXPECT_EQ(boxes[0]->currentText(), "two");
  EXPECT_EQ(workspace_.find(workspace_.current())->label, "two");
  undo_.redo();
  undo_.redo();
  EXPECT_EQ(boxes[0]->currentText(), "one");
  EXPECT_EQ(boxes[1]->currentText(), "two");
}

TEST_F(RouterViewTest, ShowsTheFractionOnTheEmbeddingsBesideThatOfAUniformRouter) {
  open({checkpointFolder()});
  ASSERT_EQ(plot(3).figure()->name, "router-embeddings");
  const auto& curve = std::get<CurvePanel>(plot(3).figure()->panels[0].content).curves[0];
  EXPECT_EQ(curve.label, "tiny");
  QTest::mouseMove(&plot(3), plot(3).toPixel(0, QPointF(curve.x[1], curve.y[1])).toPoint());
  EXPECT_TRUE(status_.startsWith("layer 2 reads layer 0 (embeddings): fraction"))
      << status_.toStdString();
  view_.setState(Json{{"uniform", true}});
  EXPECT_EQ(plot(0).figure()->colour_label, "fraction of |R| / uniform");
  EXPECT_EQ(view_.commandLines().size(), 1) << "lime-figure has no such map";
}

TEST_F(RouterViewTest, MultipliesWeightsByTheSizeOfKeysInACapture) {
  open({checkpointFolder()});
  view_.setState(Json{{"weighting", "keys"}});
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  EXPECT_FALSE(view_.figure());
  EXPECT_TRUE(plot(0).message().startsWith("size of keys: no open capture was made from '"))
      << plot(0).message().toStdString();
  const Checkpoint checkpoint = Checkpoint::open(folder_ / "tiny");
  const ModelConfig& config = checkpoint.config();
  lime::testing::SmallCapture capture;
  capture.lengths = {8};
  capture.config = model_config_to_json(config);
  capture.checkpoint_sha256 = checkpoint.sha256();
  capture.num_heads = static_cast<int>(config.num_key_value_heads);
  for (int layer = 0; layer < 3; ++layer) {
    const MatrixF keys = lime::testing::random_matrix(
        8, config.num_key_value_heads * config.head_dim, static_cast<std::uint64_t>(layer));
    capture.activations.push_back({"keys", layer, (1.0F + static_cast<float>(layer)) * keys});
  }
  lime::testing::write_capture(folder_ / "keys.h5", capture);
  open({toQString(folder_ / "keys.h5")});
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle() && view_.figure(); }))
      << plot(0).message().toStdString();
  const Routers routers = routers_of(checkpoint);
  const MatrixD expected =
      router_mean_map(routers, head_scales_of(CaptureReader(folder_ / "keys.h5"), "keys", routers));
  const MatrixD map = std::get<HeatmapPanel>(plot(0).figure()->panels[0].content).values;
  for (int layer = 1; layer < 3; ++layer) {
    for (int source = 0; source <= layer; ++source) {
      EXPECT_NEAR(map(2 - layer, source), expected(layer, source), 1e-12);
    }
  }
  EXPECT_EQ(plot(0).figure()->colour_label, "fraction of |R| \xC3\x97 rms of keys");
  EXPECT_EQ(view_.state()["weighting"], "keys");
  EXPECT_TRUE(view_.commandLines().isEmpty()) << "lime-figure has no such map";
  view_.setState(Json{{"weighting", ""}});
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle() && view_.figure(); }));
  EXPECT_EQ(plot(0).figure()->colour_label, "fraction of |R|");
}

TEST_F(RouterViewTest, FlowOfAHeadLeadsBackWhenClicked) {
  open({checkpointFolder()});
  view_.findChild<QTabBar*>()->setCurrentIndex(1);
  ASSERT_EQ(plot(2).figure()->name, "router-flow");
  // The dot of layer 1, head 0: heads count from the top.
  const QPoint dot = plot(2).toPixel(0, QPointF(1.0, 1.0)).toPoint();
  QTest::mouseMove(&plot(2), dot);
  EXPECT_TRUE(status_.contains("reads layer 1, head 0")) << status_.toStdString();
  QTest::mouseClick(&plot(2), Qt::LeftButton, {}, dot);
  EXPECT_EQ(selection().layer, 1);
  EXPECT_EQ(selection().head, 0);
}

TEST_F(RouterViewTest, ShowsTheDifferenceOfTwoCheckpointsAndAFilmOfMany) {
  open({checkpointFolder("step-2"), checkpointFolder("step-10"), checkpointFolder("step-1")});
  auto* const controls = view_.findChild<RouterControls*>();
  const auto& documents = workspace_.documents();
  controls->setCheckpoint(documents[2].id);
  Q_EMIT controls->checkpointSelected();
  controls->step(1);
  EXPECT_EQ(controls->checkpoint(), documents[0].id) << "step-2 follows step-1";
  QTest::keyClick(&plot(0), Qt::Key_PageDown);
  EXPECT_EQ(controls->checkpoint(), documents[1].id) << "step-10 follows step-2";
  controls->setOther(documents[0].id);
  Q_EMIT controls->otherSelected();
  const auto& map = std::get<HeatmapPanel>(plot(0).figure()->panels[0].content);
  EXPECT_TRUE(map.is_signed);
  EXPECT_EQ(map.values(0, 0), 0.0) << "all three have the same weights";
  const int steps = undo_.count();
  controls->setPlaying(true);
  EXPECT_TRUE(waitUntil([&] { return controls->checkpoint() == documents[2].id; }));
  EXPECT_TRUE(waitUntil([&] { return controls->checkpoint() == documents[0].id; }));
  controls->setPlaying(false);
  EXPECT_EQ(undo_.count(), steps + 1) << "a film is one step";
  undo_.undo();
  EXPECT_EQ(controls->checkpoint(), documents[1].id) << "where it began";
}

TEST_F(RouterViewTest, SurvivesClosingWhatItShows) {
  open({checkpointFolder("a"), checkpointFolder("b")});
  workspace_.close(workspace_.documents()[0].id);
  EXPECT_TRUE(view_.figure());
  workspace_.closeAll();
  EXPECT_FALSE(view_.figure());
}

TEST_F(RouterViewTest, SaysWhyACheckpointHasNoMap) {
  const QString folder = checkpointFolder();
  // A NaN weight is detected when it is read, not when the folder is opened.
  const auto path = toPath(folder) / "model.safetensors";
  const Checkpoint checkpoint = Checkpoint::open(toPath(folder));
  std::string bytes = lime::testing::read_text(path);
  const std::size_t header = 8 + static_cast<std::uint8_t>(bytes[0]) +
                             256U * static_cast<std::uint8_t>(bytes[1]) +
                             65536U * static_cast<std::uint8_t>(bytes[2]);
  const Json table = parse_json(bytes.substr(8, header - 8), "header");
  for (const auto& [name, entry] : table.items()) {
    if (name.find("lime_router") == std::string::npos) continue;
    const auto offset = entry["data_offsets"][0].get<std::size_t>();
    for (std::size_t i = 0; i < 4; ++i) bytes[header + offset + i] = '\xff';
  }
  lime::testing::write_text(path, bytes);
  open({folder});
  EXPECT_FALSE(view_.figure());
  EXPECT_TRUE(refused_.isEmpty());
  EXPECT_EQ(workspace_.documents().size(), 1U);
}

TEST_F(RouterViewTest, ShowsTheHeadsOfAllLayersAsSmallMultiples) {
  open({checkpointFolder()});
  click(0, 0, 0);  // layer 2
  auto* const panes = view_.findChild<RouterPanes*>();
  panes->setDetailKind(RouterDetail::kAllHeads);
  Q_EMIT panes->detailKindChanged();
  const Figure& all = *plot(2).figure();
  ASSERT_EQ(all.panels.size(), 2U) << "layers 1 and 2";
  EXPECT_EQ(all.panels[0].title, "layer 1");
  const auto& heads = std::get<HeatmapPanel>(plot(1).figure()->panels[0].content).values;
  const auto& last = std::get<HeatmapPanel>(all.panels[1].content).values;
  EXPECT_EQ(last, heads);
  // The cell of head 1 and buffered layer 0 in the panel of layer 1.
  QTest::mouseClick(&plot(2), Qt::LeftButton, {}, plot(2).toPixel(0, QPointF(0, 0)).toPoint());
  EXPECT_EQ(selection().layer, 1);
  EXPECT_EQ(selection().head, 1);
  EXPECT_EQ(selection().source_layer, 0);
  EXPECT_EQ(std::get<HeatmapPanel>(plot(1).figure()->panels[0].content).values.cols(), 2)
      << "the map of heads shows the layer";
  EXPECT_TRUE(
      view_.commandLines().back().startsWith("lime-figure router.json --kind router-heads -o"))
      << view_.commandLines().back().toStdString();
}

TEST_F(RouterViewTest, ExportsThePaneThatWasUsedLastAndNamesItsCommands) {
  const QString folder = checkpointFolder();
  open({folder});
  EXPECT_EQ(view_.commandLines().front(),
            QStringLiteral("lime-metrics router %1 --detail weights -o router.json").arg(folder));
  EXPECT_TRUE(view_.commandLines().back().contains("--kind router-mean"));
  click(1, 0, 0);
  EXPECT_EQ(view_.figure()->name, "router-heads");
  EXPECT_TRUE(view_.commandLines().back().contains("--kind router-heads --layer 2"));
  for (const std::string name : {"r.pdf", "r.svg", "r.png", "r.csv"}) {
    ExportDialog dialog(*view_.figure(), view_.provenance());
    dialog.setPath(toQString(folder_ / name));
    dialog.accept();
    EXPECT_TRUE(std::filesystem::exists(folder_ / name)) << dialog.problem().toStdString();
  }
}

TEST_F(RouterViewTest, StateReadsItselfBack) {
  const QString folder = checkpointFolder();
  open({folder});
  const Json state = {{"checkpoint", folder.toStdString()},
                      {"minus", ""},
                      {"weighting", ""},
                      {"threshold", 0.2},
                      {"detail", 1},
                      {"signed", true},
                      {"normalised", false},
                      {"sorted", true},
                      {"uniform", false},
                      {"layer", 1},
                      {"head", 1},
                      {"source_layer", 0}};
  view_.setState(state);
  EXPECT_EQ(view_.state(), state);
  view_.setState(Json{{"unknown", 1}});
}

/// Shares of a capture with the weights of each token, then those of a selected token.
TEST_F(RouterViewTest, ShowsTheSourcesOfACaptureAndOfASelectedToken) {
  lime::testing::SmallCapture capture = lime::testing::example_capture();
  capture.config = model_config_to_json(lime::testing::tiny_config("attn_res", 2));
  MatrixF weights = MatrixF::Zero(16, 4);  // inputs attn and mlp of layer 0
  weights.col(0).setOnes();
  weights.col(2).setConstant(0.75F);
  weights.col(3).setConstant(0.25F);
  weights.row(6) << 1.0F, 0.0F, 0.2F, 0.8F;
  capture.activations.push_back({"hook_depth_weights", 0, weights});
  capture.activations.push_back({"hook_depth_weights", 1, MatrixF::Ones(16, 15)});
  lime::testing::write_capture(folder_ / "attn.h5", capture);
  open({checkpointFolder(), toQString(folder_ / "attn.h5")});
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  const auto box = view_.findChildren<QComboBox*>().front();
  ASSERT_EQ(box->count(), 2);
  box->setCurrentIndex(1);
  Q_EMIT box->activated(1);
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  ASSERT_TRUE(view_.figure());
  EXPECT_EQ(view_.figure()->name, "router-sources");
  auto* const pane = view_.findChild<FigurePane*>("sources of each input");
  ASSERT_NE(pane, nullptr);
  EXPECT_TRUE(pane->isVisible());
  EXPECT_FALSE(plot(0).isVisible());
  EXPECT_EQ(pane->caption(), u"Routing weights, averaged over all tokens"_s);
  EXPECT_EQ(view_.figure()->colour_label,
            "fraction of the weight (uniform in the last row: 1/5 = 0.200)");
  const auto share = [this](int part, int source) {
    const HeatmapPanel map = std::get<HeatmapPanel>(view_.figure()->panels.front().content);
    return map.values(map.values.rows() - 1 - part, source);
  };
  EXPECT_NEAR(share(1, 0), (15 * 0.75 + 0.2) / 16.0, 1e-6);
  EXPECT_NEAR(share(4, 3), 0.2, 1e-12);
  EXPECT_TRUE(std::isnan(share(0, 1)));

  workspace_.selectTokens(
      tokensAt(CaptureReader(folder_ / "attn.h5"), std::vector<std::int64_t>{6}));
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  EXPECT_EQ(pane->caption(), u"Routing weights of the selected token"_s);
  EXPECT_NEAR(share(1, 0), 0.2, 1e-6);
  QTest::mouseMove(&pane->plot(), pane->plot().toPixel(0, QPointF(1, 3)).toPoint());
  EXPECT_EQ(status_,
            u"the MLP of layer 0 reads the attention of layer 0: 0.8000, 1.60 x uniform (1/2)"_s);

  box->setCurrentIndex(0);
  Q_EMIT box->activated(0);
  EXPECT_TRUE(plot(0).isVisible());
  EXPECT_EQ(view_.figure()->name, "router-mean");
}

TEST_F(RouterViewTest, APlainCaptureShowsWhatEachLayerWrites) {
  lime::testing::SmallCapture capture = lime::testing::example_capture();
  capture.config = model_config_to_json(lime::testing::tiny_config("llama", 2));
  lime::testing::write_capture(folder_ / "llama.h5", capture);
  open({toQString(folder_ / "llama.h5")});
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  auto* const pane = view_.findChild<FigurePane*>("sources of each input");
  EXPECT_EQ(pane->caption(),
            u"What attention and MLP write to the residual stream of a plain transformer"_s);
  const std::optional<Figure> figure = view_.figure();
  ASSERT_TRUE(figure) << pane->plot().message().toStdString();
  const auto& norms = std::get<CurvePanel>(figure->panels.front().content).curves;
  ASSERT_EQ(norms.size(), 2U);
  EXPECT_EQ(norms[0].label, "both together");
  EXPECT_EQ(norms[1].label, "residual stream");
  const CaptureReader reader(folder_ / "llama.h5");
  const MatrixF written = reader.read_all("hidden", 1) - reader.read_all("hidden", 0);
  Eigen::VectorXf sorted = written.rowwise().norm();
  std::ranges::sort(sorted);
  EXPECT_DOUBLE_EQ(norms[0].y[1], sorted((sorted.size() - 1) / 2)) << "the lower median";
  EXPECT_TRUE(std::isnan(norms[0].y[0]));
}

TEST_F(RouterViewTest, APlainCheckpointSaysWhatItNeedsAndHasNoControlsOfWeights) {
  lime::testing::write_tiny_checkpoint(folder_ / "llama");
  open({checkpointFolder(), toQString(folder_ / "llama")});
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  workspace_.setCurrent(workspace_.documents()[1].id);
  EXPECT_FALSE(view_.figure());
  auto* const pane = view_.findChild<FigurePane*>("sources of each input");
  EXPECT_TRUE(pane->plot().message().contains("lime-capture sweep --over sublayers"));
  EXPECT_TRUE(view_.commandLines().isEmpty());
  auto* const threshold = view_.findChild<QSlider*>();
  EXPECT_FALSE(threshold->isVisible());
  const auto label = [&]() -> const QLabel& {
    for (const QLabel* const each : view_.findChildren<QLabel*>()) {
      if (each->buddy() == threshold) return *each;
    }
    throw std::runtime_error("the threshold has no label");
  };
  EXPECT_FALSE(label().isVisible()) << "hidden like its control";
  workspace_.setCurrent(workspace_.documents()[0].id);
  EXPECT_TRUE(threshold->isVisible());
  EXPECT_TRUE(label().isVisible());
  EXPECT_TRUE(threshold->toolTip().startsWith("Hide weights"))
      << threshold->toolTip().toStdString();
  EXPECT_EQ(view_.figure()->name, "router-mean");
}

}  // namespace
}  // namespace lime::explorer::testing
