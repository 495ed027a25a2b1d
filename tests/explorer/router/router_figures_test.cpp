// SPDX-License-Identifier: Apache-2.0
#include "explorer/router/router_figures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "core/random.h"
#include "explorer/router/router_flow_figure.h"
#include "explorer/router/router_maps.h"
#include "store/results/columns.h"
#include "store/results/matrix_rows.h"
#include "viz/recipes/recipe.h"

namespace lime::explorer::testing {
namespace {

CheckpointRouters randomRouters(std::int64_t layers, std::int64_t heads, std::uint64_t seed = 3) {
  Random random(seed);
  Routers routers = Routers::identity(layers, heads);
  for (MatrixD& router : routers.weights) {
    router = router.unaryExpr([&](double) { return random.normal(); });
  }
  return CheckpointRouters(std::move(routers));
}

const MatrixD& drawn(const RouterMap& map) {
  return std::get<HeatmapPanel>(map.figure.panels.front().content).values;
}

TEST(RouterFiguresTest, MapsShowTheValuesWhereTheirTicksSay) {
  const CheckpointRouters routers = randomRouters(5, 3);
  const RouterMap map = layerMap({&routers, nullptr}, {});
  const MatrixD& values = routers.layer_values(RouterQuantity::kShare);
  // The first layer is omitted, the second is at the top.
  EXPECT_EQ(map.rows, (std::vector<int>{4, 3, 2, 1}));
  EXPECT_EQ(drawn(map)(map.rowOf(3), map.colOf(2)), values(3, 2));
  EXPECT_TRUE(std::isnan(drawn(map)(map.rowOf(1), map.colOf(4))));
  EXPECT_EQ(map.rowOf(0), -1);
}

TEST(RouterFiguresTest, MapsKnowWhatStandsAtAPlaceOfTheirAxes) {
  const CheckpointRouters routers = randomRouters(5, 3);
  const RouterMap map = layerMap({&routers, nullptr}, {});
  ASSERT_EQ(map.rows, (std::vector<int>{4, 3, 2, 1}));
  const auto cellAt = [&map](double x, double y) {
    FigureHit hit;
    hit.x = x;
    hit.y = y;
    return map.cellAt(hit);
  };
  EXPECT_EQ(cellAt(0.0, -0.4)->first, 4);
  EXPECT_EQ(cellAt(0.0, 0.4)->first, 4);
  EXPECT_EQ(cellAt(0.0, 0.6)->first, 3);
  EXPECT_EQ(cellAt(0.0, 3.4)->first, 1);
  EXPECT_FALSE(cellAt(0.0, -0.6));
  EXPECT_FALSE(cellAt(0.0, 3.6));
  EXPECT_FALSE(cellAt(0.0, NAN));
  EXPECT_EQ(cellAt(2.0, 0.0)->second, map.cols.at(2));
  EXPECT_FALSE(cellAt(static_cast<double>(map.cols.size()), 0.0));
}

TEST(RouterFiguresTest, SortedMapsBeginWithTheStrongest) {
  const CheckpointRouters routers = randomRouters(6, 4);
  RouterDisplay display;
  display.is_sorted = true;
  const RouterMap map = headMap({&routers, nullptr}, 5, display);
  double before = INFINITY;
  for (Eigen::Index c = 0; c < map.values.cols(); ++c) {
    const double sum = map.values.col(c).cwiseAbs().sum();
    EXPECT_LE(sum, before);
    before = sum;
  }
  EXPECT_EQ(map.figure.panels.front().x.ticks.front().label, std::to_string(map.cols.front()));
}

TEST(RouterFiguresTest, ThresholdLeavesOutTheWeakButKeepsTheirNumbers) {
  const CheckpointRouters routers = randomRouters(4, 3);
  RouterDisplay display;
  display.threshold = 0.5;
  const RouterMap map = blockMap({&routers, nullptr}, 3, 1, display);
  const double largest = map.values.cwiseAbs().maxCoeff();
  for (Eigen::Index i = 0; i < map.values.size(); ++i) {
    const bool is_there = std::isfinite(drawn(map).data()[i]);
    EXPECT_EQ(is_there, std::abs(map.values.data()[i]) >= 0.5 * largest);
  }
}

TEST(RouterFiguresTest, DifferenceOfARouterWithItselfIsZeroEverywhere) {
  const CheckpointRouters routers = randomRouters(4, 2);
  const RouterSubject both{&routers, &routers};
  EXPECT_EQ(headMap(both, 3, {}).values.cwiseAbs().maxCoeff(), 0.0);
  EXPECT_EQ(blockMap(both, 3, 0, {}).values.cwiseAbs().maxCoeff(), 0.0);
  EXPECT_TRUE(std::get<HeatmapPanel>(layerMap(both, {}).figure.panels[0].content).is_signed);
}

TEST(RouterFiguresTest, HoverNamesLayerHeadSourceSignedWeightAndRank) {
  Routers weights = Routers::identity(2, 2);
  weights.weights[1] << 0.1, -0.7, 0.2, 0.0,  //
      1.0, 0.0, 0.0, 0.0;
  const CheckpointRouters routers(weights);
  const RouterSubject subject{&routers, nullptr};
  EXPECT_EQ(describeWeight(subject, {}, 1, 0, 0, 1).toStdString(),
            "layer 1, head 0 reads layer 0 (embeddings), head 1: weight -0.7000, fraction 0.7000, "
            "rank 1 of 4 sources");
  EXPECT_EQ(
      describeSource(subject, {}, 1, 0, 1).toStdString(),
      "layer 1, head 0 reads layer 1: fraction 0.2000, 0.40 times uniform (1/2 = 0.5000); signed "
      "weight 0.2000, rank 2 of 2 layers");
  RouterDisplay display;
  display.layer_base = 1;
  EXPECT_TRUE(describeSource(subject, display, 1, {}, 0)
                  .startsWith("layer 2 reads layer 1 (embeddings): fraction 0.9000, 1.80 times"));
  EXPECT_TRUE(describeSource(subject, display, 1, 0, 1).startsWith("layer 2, head 1 reads"))
      << "heads count like layers";
}

TEST(RouterFiguresTest, FractionsAreComparedWithThoseOfAUniformRouter) {
  const CheckpointRouters routers = randomRouters(5, 3);
  const RouterSubject subject{&routers, nullptr};
  RouterDisplay display;
  const RouterMap shares = layerMap(subject, display);
  display.is_uniform = true;
  const RouterMap times = layerMap(subject, display);
  for (Eigen::Index r = 0; r < times.values.rows(); ++r) {
    const double count = times.rows[static_cast<std::size_t>(r)] + 1.0;
    EXPECT_NEAR(times.values(r, 0), count * shares.values(r, 0), 1e-12);
    EXPECT_NEAR(times.values.row(r).head(static_cast<Eigen::Index>(count)).mean(), 1.0, 1e-12);
  }
  const Figure figure = embeddingsFigure(subject, {});
  const auto& curves = std::get<CurvePanel>(figure.panels.at(0).content).curves;
  ASSERT_EQ(curves.size(), 2U);
  EXPECT_EQ(curves[0].x, (std::vector<double>{1, 2, 3, 4}));
  EXPECT_NEAR(curves[0].y[3], shares.values(shares.rowOf(4), 0), 1e-12);
  EXPECT_EQ(curves[1].y, (std::vector<double>{1.0 / 2, 1.0 / 3, 1.0 / 4, 1.0 / 5}));
}

TEST(RouterFiguresTest, TheHeadsOfAllLayersAreDrawnAsByLimeFigure) {
  const CheckpointRouters routers = randomRouters(3, 3);  // two panels: not wide
  FigureSource source;
  source.results.metric = "router";
  for (int layer = 0; layer < 3; ++layer) {
    const MatrixD shares = router_head_values(routers.routers(), layer, RouterQuantity::kShare);
    std::vector<double> weights;
    for (const auto row : shares.rowwise()) {
      weights.insert(weights.end(), row.begin(), row.end());
    }
    source.results.rows.push_back(
        matrix_row("router", "head_map",
                   {{col::kLabel, "router"}, {col::kLayer, layer}, {col::kWeighting, "none"}},
                   {shares.rows(), shares.cols()}, weights));
  }
  RouterDisplay display;
  display.layer_base = 1;
  FigureOptions options;
  options.kind = "router-heads";
  options.layer_base = 1;
  const Figure expected = make_figure({&source, 1}, options);
  const Figure shown = headOverview({&routers, nullptr}, display).figure;
  EXPECT_EQ(shown.name, expected.name);
  EXPECT_EQ(shown.columns, expected.columns);
  EXPECT_EQ(shown.is_wide, expected.is_wide);
  EXPECT_EQ(shown.panel_aspect, expected.panel_aspect);
  EXPECT_EQ(shown.labels_at_edges, expected.labels_at_edges);
  EXPECT_EQ(shown.colour_label, expected.colour_label);
  ASSERT_EQ(shown.panels.size(), expected.panels.size());
  for (std::size_t i = 0; i < shown.panels.size(); ++i) {
    const FigurePanel& panel = shown.panels[i];
    EXPECT_EQ(panel.title, expected.panels[i].title);
    EXPECT_EQ(panel.x.label, expected.panels[i].x.label);
    EXPECT_EQ(panel.y.label, expected.panels[i].y.label);
    EXPECT_EQ(std::get<HeatmapPanel>(panel.content).values,
              std::get<HeatmapPanel>(expected.panels[i].content).values);
  }
}

TEST(RouterFiguresTest, SelectionIsCompletedWithinTheShape) {
  const CheckpointRouters routers = randomRouters(4, 2);
  const Selection all = completed({}, routers);
  EXPECT_EQ(all.layer, 3);
  EXPECT_EQ(all.head, 0);
  ASSERT_TRUE(all.source_layer);
  const Selection cut = completed({.layer = 9, .head = 9, .source_layer = 9}, routers);
  EXPECT_EQ(cut.layer, 3);
  EXPECT_EQ(cut.head, 1);
  EXPECT_EQ(cut.source_layer, 3);
}

TEST(RouterFiguresTest, FlowHasANodeForEachBufferedHead) {
  const CheckpointRouters routers = randomRouters(5, 3);
  const RouterFlowFigure flow = flowFigure(routers, 3, 1, {});
  EXPECT_EQ(flow.nodes.size(), 12U);
  const auto& curves = std::get<CurvePanel>(flow.figure.panels[0].content).curves;
  EXPECT_EQ(curves.back().x.size(), flow.nodes.size());
  EXPECT_EQ(curves.back().x[flow.nodes.size() - 1], 3.0);
  for (const Curve& curve : curves) {
    EXPECT_TRUE(std::is_sorted(curve.x.begin(), curve.x.end())) << curve.label;
  }
  // Reads from the heads of one level are arcs, none of which covers another.
  std::set<double> middles;
  int num_level = 0;
  for (const Curve& curve : curves) {
    const bool is_read = curve.label.starts_with("read with");
    if (!is_read || curve.y.front() != curve.y.back()) continue;
    ++num_level;
    middles.insert(curve.y[curve.y.size() / 2]);
  }
  EXPECT_EQ(num_level, 4);
  EXPECT_EQ(middles.size(), 4U);
  const auto& map = std::get<HeatmapPanel>(flow.figure.panels[1].content).values;
  EXPECT_NEAR(map(2, 0), router_flow(routers.routers(), 3, 1).indirect(0, 0), 1e-15);
}

}  // namespace
}  // namespace lime::explorer::testing
