// SPDX-License-Identifier: Apache-2.0
#include "viz/figure_hover.h"

#include <gtest/gtest.h>

#include "viz/figure_fixture.h"
#include "viz/figure_scene.h"

namespace lime {
namespace {

class FigureHoverTest : public testing::FigureFixture {};

Figure figure_of(FigurePanel panel) {
  Figure figure;
  figure.name = "figure";
  figure.panels = {std::move(panel)};
  return figure;
}

TEST_F(FigureHoverTest, NamesThePointsOfCurvesWhereTheyAreDrawn) {
  Curve curve;
  curve.label = "lime";
  curve.x = {0.0, 1.0, 2.0};
  curve.y = {0.5, NAN, 1.5};
  curve.low = {0.25, NAN, 1.0};
  curve.high = {0.75, NAN, 2.0};
  const Figure figure = figure_of({.x = {.label = "layer"},
                                   .y = {.label = "entropy (nats)"},
                                   .content = CurvePanel{{curve}, {}}});
  const Json hover = figure_hover(figure, {});
  const Json& points = hover.at("panels").at(0).at("points");
  ASSERT_EQ(points.size(), 2U) << "NaN is no point";
  EXPECT_EQ(points[0][2], "lime: layer 0, entropy (nats) 0.5 [0.25, 0.75]");
  const Figure drawn = drawn_figure(figure, {});
  const FigureScene scene(drawn, FigureStyle());
  const QPointF at = scene.to_scene(0, {2.0, 1.5});
  EXPECT_NEAR(points[1][0].get<double>(), at.x(), 0.06) << "rounded to a tenth of a unit";
  EXPECT_NEAR(points[1][1].get<double>(), at.y(), 0.06);
  ASSERT_EQ(hover.at("series").size(), 1U);
  EXPECT_EQ(hover.at("series").at(0).at("label"), "lime");
  EXPECT_EQ(hover.at("series").at(0).at("colour"), "#0072b2");
}

TEST_F(FigureHoverTest, NamesTheCellsOfHeatmaps) {
  MatrixD values(2, 3);
  values << 1.0, 2.0, NAN, 4.0, 5.0, 6.25;
  FigurePanel panel =
      map_panel(values, {"source layer", numbers_from(1, 3)}, {"layer", numbers_from(1, 2)});
  const Json hover = figure_hover(figure_of(panel), {});
  const Json& cells = hover.at("panels").at(0).at("cells");
  EXPECT_EQ(cells.at("rows"), Json({"layer 1", "layer 2"}));
  EXPECT_EQ(cells.at("columns"), Json({"source layer 1", "source layer 2", "source layer 3"}));
  EXPECT_EQ(cells.at("values").at(1), Json({"4", "5", "6.25"}));
  EXPECT_TRUE(cells.at("values").at(0).at(2).is_null());
}

TEST_F(FigureHoverTest, LeavesOutPanelsThatAPageCannotContain) {
  const Json hover =
      figure_hover(figure_of({.content = HeatmapPanel{.values = MatrixD::Ones(300, 300)}}), {});
  EXPECT_TRUE(hover.at("panels").empty());
}

}  // namespace
}  // namespace lime
