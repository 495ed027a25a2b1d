// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/errors.h"
#include "viz/figure_file.h"
#include "viz/recipes/recipe.h"
#include "viz/sample_results.h"

namespace lime {
namespace {

using ::testing::HasSubstr;
using testing::sample_entropy;
using testing::sample_router;

std::string refusal(const std::vector<FigureSource>& sources, const FigureOptions& options = {}) {
  try {
    make_figure(sources, options);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "";
}

TEST(RecipesTest, EntropyHasAPanelPerSiteAndACurvePerModel) {
  const std::vector<FigureSource> sources = {sample_entropy(5)};
  const Figure figure = make_figure(sources, {.layer_base = 1});
  ASSERT_EQ(figure.panels.size(), 2U);
  const auto& curves = std::get<CurvePanel>(figure.panels[0].content);
  ASSERT_EQ(curves.curves.size(), 2U);
  EXPECT_EQ(curves.curves[1].label, "LIMe");
  EXPECT_EQ(curves.curves[1].x, (std::vector<double>{1, 2, 3, 4, 5}));
  EXPECT_DOUBLE_EQ(curves.curves[1].y[0], 2.5);
  EXPECT_DOUBLE_EQ(curves.curves[1].low[0], 2.45);
  ASSERT_EQ(curves.references.size(), 1U);
  EXPECT_DOUBLE_EQ(curves.references[0].y, std::log(32.0));
  EXPECT_EQ(legend_of(figure).size(), 2U);
}

TEST(RecipesTest, MissingLayersLeaveAGap) {
  std::vector<FigureSource> sources = {sample_entropy(5)};
  std::erase_if(sources[0].results.rows, [](const Json& row) { return row["layer"] == 2; });
  const Figure figure = make_figure(sources, {});
  const auto& curve = std::get<CurvePanel>(figure.panels[0].content).curves[0];
  ASSERT_EQ(curve.x, (std::vector<double>{0, 1, 2, 3, 4}));
  EXPECT_TRUE(std::isnan(curve.y[2]));
}

TEST(RecipesTest, TheMeanMapIsALowerTriangle) {
  const std::vector<FigureSource> sources = {sample_router(4)};
  const Figure figure = make_figure(sources, {});
  const auto& map = std::get<MapPanel>(figure.panels.at(0).content);
  ASSERT_EQ(map.values.rows(), 4);
  // Row 0 is drawn at the bottom: the last layer.
  EXPECT_DOUBLE_EQ(map.values(0, 3), 0.25);
  EXPECT_DOUBLE_EQ(map.values(2, 0), 0.5);
  EXPECT_TRUE(std::isnan(map.values(2, 2)));
  EXPECT_TRUE(std::isnan(map.values(3, 0)));
}

TEST(RecipesTest, SignedWeightsAreCentredAtZero) {
  const std::vector<FigureSource> sources = {sample_router(3)};
  const Figure figure = make_figure(sources, {.kind = "router-signed"});
  EXPECT_EQ(colour_range_of(figure), std::pair(-0.5, 0.5));
}

TEST(RecipesTest, RefusesWhatDoesNotFit) {
  EXPECT_THAT(refusal({sample_entropy()}, {.kind = "router-mean"}),
              HasSubstr("does not show results of entropy; fitting: entropy"));
  EXPECT_THAT(refusal({sample_entropy(), sample_router()}), HasSubstr("of one metric"));
  FigureSource empty = sample_entropy();
  empty.results.rows.clear();
  EXPECT_THAT(refusal({empty}), HasSubstr("holds no rows"));
  EXPECT_THAT(refusal({sample_entropy()}, {.site = {"keys"}}), HasSubstr("values, hidden"));
  FigureSource unknown = sample_entropy();
  unknown.results.metric = "weather";
  EXPECT_THAT(refusal({unknown}), HasSubstr("there are figures of entropy"));
  EXPECT_THAT(refusal({sample_entropy()}, {.layer_base = 2}), HasSubstr("must be 0 or 1"));
  EXPECT_THAT(refusal({sample_entropy()}, {.y_limits = {3.0}}), HasSubstr("two numbers"));
  EXPECT_THAT(refusal({sample_entropy(), sample_entropy()}), HasSubstr("comes twice"));
}

TEST(RecipesTest, CsvHoldsWhatIsDrawn) {
  const std::vector<FigureSource> sources = {sample_entropy(2)};
  const std::string csv = figure_to_csv(make_figure(sources, {}));
  EXPECT_THAT(csv, HasSubstr("panel,title,series,x,y,low,high\n0,values,LLaMA,0,2,1.95,2.05\n"));
}

}  // namespace
}  // namespace lime
